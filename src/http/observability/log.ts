import { type FastifyBaseLogger, LogController } from 'fastify';
import { type DestinationStream, type Logger, type LoggerOptions, pino, symbols } from 'pino';
import type { Config } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import { printable, printableJson } from '../../operations/batch/filename.ts';
import { LogFile } from './log-file.ts';

/**
 * Options of the daemon's log. Headers and bodies, which hold secrets, are not logged;
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
      'headers.authorization',
      'headers["x-api-key"]',
      'headers.cookie',
      'apiKey',
    ].flatMap((path) => [path, `*.${path}`]),
    censor: '***',
  },
};

/** An outage of the store is no defect: its failures, one for each request, need no stack. */
function describeError(error: Error): object {
  const described = pino.stdSerializers.err(error);
  if (!(error instanceof Failure) || error.code !== 'store_unavailable') return described;
  return { ...described, stack: undefined };
}

interface LogOptions {
  /** Descriptor of the file for JSON lines; by default standard output, or the file of the settings. */
  readonly descriptor?: number | undefined;
  /** Number of this process, which every line and the name of its file have; undefined for a single one. */
  readonly number?: number | undefined;
  /** Called with the number of lines that the file of the settings did not take. */
  readonly onLost?: (lines: number) => void;
}

/** Opens the log: standard output, or a file whose warnings and errors are on standard error as well. */
export async function openLog(
  { level, format, file: path, ...rotation }: Config['log'],
  { descriptor, number, onLost = () => {} }: LogOptions = {},
): Promise<Logger> {
  const options = { ...OPTIONS, level, base: number === undefined ? null : { process: number } };
  // Each process rotates its own file.
  const file = number === undefined ? path : path?.replace(/(\.[^./]*)?$/, `-${number}$1`);
  const isFile = file !== undefined && descriptor === undefined;
  const terminal = isFile ? process.stderr : process.stdout;
  const isPretty = format === 'pretty' || (format === 'auto' && terminal.isTTY);
  const output = descriptor ?? (isFile ? STANDARD_ERROR : STANDARD_OUTPUT);
  const people = isPretty && descriptor === undefined ? await prettyOutput(output) : null;
  if (!isFile) return pino(options, people ?? new BufferedOutput(printingTo(output)));
  const errors = people ?? printingTo(output);
  const failed = (reason: string | null) => {
    const line = { level: 'warn', time: new Date().toISOString(), file };
    const msg = reason === null ? 'the log file can be written again' : CANNOT_WRITE;
    errors.write(`${JSON.stringify({ ...line, ...(reason !== null && { reason }), msg })}\n`);
  };
  const written = new LogFile({ file, ...rotation }, { lost: onLost, failed });
  return pino(options, new BufferedOutput(written, errors));
}

const CANNOT_WRITE = 'the log file cannot be written; its lines are lost until it can';

/** Text for people, on a terminal. */
async function prettyOutput(descriptor: number): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty');
  const terminal = pretty({
    destination: outputTo(descriptor),
    ignore: 'pid,hostname',
    translateTime: 'HH:MM:ss.l',
    singleLine: true,
  });
  return {
    write: (line) => void terminal.write(`${JSON.stringify(JSON.parse(line, printableValue))}\n`),
  };
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
const STANDARD_ERROR = 2;

/** An open file. An error (a full disk, no reader) must not end the daemon. */
function outputTo(descriptor: number) {
  const output = pino.destination({ dest: descriptor, sync: true, maxLength: MAX_WAITING_BYTES });
  // Without a listener Node would throw; the lines are written with later ones.
  output.on('error', () => {});
  return output;
}

/** An open file whose lines may be shown on a terminal. */
function printingTo(descriptor: number): DestinationStream {
  const output = outputTo(descriptor);
  return { write: (lines) => void output.write(printableJson(lines)) };
}

/** Beginning of a line that is a warning or worse. */
const SEVERE = /^\{"level":"(?:warn|error|fatal)"/;

/** Buffers JSON lines: under load a write for each line takes as long as building it. */
class BufferedOutput implements DestinationStream {
  readonly #output: DestinationStream | LogFile;
  readonly #errors: DestinationStream | null;
  #lines = '';
  #timer: NodeJS.Timeout | null = null;

  /** @param errors gets warnings and errors as well, at once */
  constructor(output: DestinationStream | LogFile, errors: DestinationStream | null = null) {
    this.#output = output;
    this.#errors = errors;
    process.on('exit', () => this.#flush());
  }

  write(line: string): void {
    if (this.#errors !== null && SEVERE.test(line)) this.#errors.write(line);
    this.#lines += line;
    if (this.#lines.length >= FLUSH_LENGTH) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_DELAY_MS);
  }

  #flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    const lines = this.#lines;
    this.#lines = '';
    if (lines !== '') this.#output.write(lines);
  }

  /** Opens the log file of that name anew, after another program renamed it. */
  reopen(): void {
    this.#flush();
    if (this.#output instanceof LogFile) this.#output.reopen();
  }
}

/** Opens the file of a log anew, for logrotate. */
export function reopenLog(log: Logger): void {
  outputOf(log)?.reopen();
}

/** The destination of a log's JSON lines; undefined for a log in text for people. */
export function outputOf(log: Logger): BufferedOutput | undefined {
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

/** Milliseconds between two lines of the log about the same fault. */
const FAULT_LOG_INTERVAL_MS = 60_000;

/** Logs a fault that may repeat, once a minute at most. */
export function warnRarely(log: Logger, message: string): (error: unknown) => void {
  let loggedAt = -Infinity;
  return (error) => {
    if (performance.now() < loggedAt + FAULT_LOG_INTERVAL_MS) return;
    loggedAt = performance.now();
    log.warn({ err: error }, message);
  };
}
