import { type FastifyBaseLogger, type FastifyServerOptions, LogController } from 'fastify';
import { type DestinationStream, type Logger, type LoggerOptions, pino, symbols } from 'pino';
import type { Config } from '../config/schema.ts';
import { printable, printableJson } from '../operations/filename.ts';

/**
 * The daemon's log on standard output. No line is made of headers or bodies, which hold secrets;
 * should one be logged by mistake some day, these places are blotted out.
 */
const OPTIONS: LoggerOptions = {
  base: null,
  timestamp: () => `,"time":"${timeNow()}"`,
  formatters: { level: (label) => ({ level: label }) },
  redact: {
    paths: [
      'authorization',
      '*.authorization',
      '*.headers.authorization',
      '*.headers["x-api-key"]',
      'headers.authorization',
      'headers["x-api-key"]',
      'apiKey',
      '*.apiKey',
    ],
    censor: '***',
  },
};

export async function openLog({ level, format }: Config['log']): Promise<Logger> {
  const options = { ...OPTIONS, level };
  if (format === 'json' || (format === 'auto' && !process.stdout.isTTY)) {
    return pino(options, new Output());
  }
  const { default: pretty } = await import('pino-pretty');
  const terminal = pretty({
    destination: standardOutput(),
    ignore: 'pid,hostname',
    translateTime: 'HH:MM:ss.l',
    singleLine: true,
  });
  return pino(options, {
    write: (line) => void terminal.write(`${JSON.stringify(JSON.parse(line, shown))}\n`),
  });
}

/** A text of a line as a terminal may have it. Stacks have several lines. */
function shown(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.split('\n').map(printable).join('\n') : value;
}

let millisecond = 0;
let time = '';

/** As `2026-11-21T12:00:00.000Z`, written anew when it is another: under load one serves many lines. */
export function timeNow(): string {
  const now = Date.now();
  if (now !== millisecond) {
    millisecond = now;
    time = new Date(now).toISOString();
  }
  return time;
}

/** Milliseconds for which lines gather, to leave in one write. */
const GATHER = 10;

/** Characters that do not wait any longer. */
const ENOUGH = 16_384;

/** Bytes of lines that wait for a full disk or a full pipe; further ones are dropped. */
const MOST_WAITING = 4 * 1024 * 1024;

/** Standard output. One that cannot be written (a full disk, no reader) must not end the daemon. */
function standardOutput() {
  const output = pino.destination({ dest: 1, sync: true, maxLength: MOST_WAITING });
  // Without a listener Node would throw; the lines are written later, with those that come then.
  output.on('error', () => {});
  return output;
}

/** Lines of JSON on their way to standard output: under load, writing each by itself would cost as much. */
class Output implements DestinationStream {
  readonly #output = standardOutput();
  #lines = '';
  #timer: NodeJS.Timeout | null = null;

  constructor() {
    process.on('exit', () => this.#flush());
  }

  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length >= ENOUGH) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), GATHER);
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#output.write(printableJson(lines));
  }
}

/** Where a log's lines go as they are; undefined where they are made readable first. */
export function outputOf(log: Logger): DestinationStream | undefined {
  const { [symbols.streamSym]: stream } = log as unknown as Record<symbol, unknown>;
  return stream instanceof Output ? stream : undefined;
}

/**
 * How a server logs: only what is wrong. It would write two lines for a request where we write one
 * with what it cost, and one for each address that it listens on.
 */
export function quietly(log: Logger) {
  const level = log.isLevelEnabled('warn') ? 'warn' : log.level;
  return {
    loggerInstance: log.child({}, { level }),
    childLoggerFactory: lazyLog,
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'requestId',
    }),
  };
}

/**
 * A log that is made when something is written to it. Fastify has one made for each request, which
 * takes 1 µs, and hardly ever writes to it.
 */
class LazyLog {
  readonly #make: () => FastifyBaseLogger;
  #made: FastifyBaseLogger | undefined;

  constructor(make: () => FastifyBaseLogger) {
    this.#make = make;
  }

  get made(): FastifyBaseLogger {
    this.#made ??= this.#make();
    return this.#made;
  }
}

const METHODS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent', 'child'] as const;

for (const method of METHODS) {
  Object.defineProperty(LazyLog.prototype, method, {
    value(this: LazyLog, ...given: unknown[]): unknown {
      const { made } = this;
      return (made[method] as (...given: unknown[]) => unknown).apply(made, given);
    },
  });
}

const lazyLog: NonNullable<FastifyServerOptions['childLoggerFactory']> = (
  parent,
  bindings,
  options,
) => new LazyLog(() => parent.child(bindings, options)) as unknown as FastifyBaseLogger;
