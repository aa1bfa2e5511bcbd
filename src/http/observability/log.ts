import { type FastifyBaseLogger, LogController } from 'fastify';
import { type DestinationStream, type Logger, type LoggerOptions, pino, symbols } from 'pino';
import type { Config } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { printable, printableJson } from '../../operations/batch/filename.ts';

/**
 * Options of the daemon's log on standard output. Headers and bodies, which hold secrets, are not logged;
 * the redaction covers mistakes.
 */
const OPTIONS: LoggerOptions = {
  base: null,
  timestamp: pino.stdTimeFunctions.isoTime,
  serializers: { err: describeError },
  formatters: { level: (label) => ({ level: label }) },
  redact: {
    paths: [
      'authorization',
      '*.authorization',
      '*.headers.authorization',
      '*.headers["x-api-key"]',
      'headers.authorization',
      'headers["x-api-key"]',
      '*.headers.cookie',
      'headers.cookie',
      'apiKey',
      '*.apiKey',
    ],
    censor: '***',
  },
};

/** An outage of the store is no defect: its failures, one for each request, need no stack. */
function describeError(error: Error): object {
  const described = pino.stdSerializers.err(error);
  if (!(error instanceof Failure) || error.code !== 'store_unavailable') return described;
  return { ...described, stack: undefined };
}

/** @param descriptor of the file for JSON lines; by default standard output */
export async function openLog(
  { level, format }: Config['log'],
  descriptor = STANDARD_OUTPUT,
): Promise<Logger> {
  const options = { ...OPTIONS, level };
  if (format === 'json' || (format === 'auto' && !process.stdout.isTTY)) {
    return pino(options, new BufferedOutput(descriptor));
  }
  const { default: pretty } = await import('pino-pretty');
  const terminal = pretty({
    destination: outputTo(STANDARD_OUTPUT),
    ignore: 'pid,hostname',
    translateTime: 'HH:MM:ss.l',
    singleLine: true,
  });
  return pino(options, {
    write: (line) => void terminal.write(`${JSON.stringify(JSON.parse(line, printableValue))}\n`),
  });
}

/** A reviver that makes texts safe for a terminal. Stacks have several lines. */
function printableValue(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.split('\n').map(printable).join('\n') : value;
}

/** Time for which lines are buffered, to be written at once. */
const FLUSH_DELAY_MS = 10;

/** Buffered characters that are written without delay. */
const FLUSH_LENGTH = 16_384;

/** Bytes of lines that wait for a full disk or a full pipe; further lines are dropped. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

const STANDARD_OUTPUT = 1;

/** An open file. An error (a full disk, no reader) must not end the daemon. */
function outputTo(descriptor: number) {
  const output = pino.destination({ dest: descriptor, sync: true, maxLength: MAX_WAITING_BYTES });
  // Without a listener Node would throw; the lines are written with later ones.
  output.on('error', () => {});
  return output;
}

/** Buffers JSON lines: under load a write for each line takes as long as building it. */
class BufferedOutput implements DestinationStream {
  readonly #output: ReturnType<typeof outputTo>;
  #lines = '';
  #timer: NodeJS.Timeout | null = null;

  constructor(descriptor: number) {
    this.#output = outputTo(descriptor);
    process.on('exit', () => this.#flush());
  }

  write(line: string): void {
    this.#lines += line;
    if (this.#lines.length >= FLUSH_LENGTH) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_DELAY_MS);
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#output.write(printableJson(lines));
  }
}

/** The destination of a log's JSON lines; undefined for a log in text for people. */
export function outputOf(log: Logger): DestinationStream | undefined {
  const { [symbols.streamSym]: stream } = log as unknown as Record<symbol, unknown>;
  return stream instanceof BufferedOutput ? stream : undefined;
}

/**
 * Fastify options for a server that logs only errors. Fastify's own two lines for each request are
 * replaced by one (`request-log.ts`).
 */
export function serverLog(log: Logger) {
  const level = log.isLevelEnabled('warn') ? 'warn' : log.level;
  return {
    loggerInstance: log.child({}, { level }),
    // A child for each request takes 5 µs, and hardly any writes a line: those name the request themselves.
    childLoggerFactory: (parent: FastifyBaseLogger) => parent,
    logController: new LogController({
      disableRequestLogging: true,
    }),
  };
}
