import { LogController } from 'fastify';
import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import type { Config } from '../config/schema.ts';

/**
 * The daemon's log on standard output. No line is made of headers or bodies, which hold secrets;
 * should one be logged by mistake some day, these places are blotted out.
 */
const OPTIONS: LoggerOptions = {
  base: null,
  timestamp: () => `,"time":"${new Date().toISOString()}"`,
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
    return pino(options, standardOutput());
  }
  const { default: pretty } = await import('pino-pretty');
  return pino(
    options,
    pretty({ sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l', singleLine: true }),
  );
}

/** Lines of one turn of the event loop leave in one write: under load those are many. */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true });
  let lines = '';
  const flush = () => {
    const text = lines;
    lines = '';
    if (text !== '') output.write(text);
  };
  process.on('exit', flush);
  return {
    write(line) {
      if (lines === '') setImmediate(flush);
      lines += line;
    },
  };
}

/**
 * A log for lines of few known fields, none of them a secret. Looking for secrets in each line, by
 * copying it, costs three times what the line does.
 */
export function unguarded(log: Logger): Logger {
  return log.child({}, { redact: [] });
}

/**
 * How a server logs: only what is wrong. It would write two lines for a request where we write one
 * with what it cost, and one for each address that it listens on.
 */
export function quietly(log: Logger) {
  const level = log.isLevelEnabled('warn') ? 'warn' : log.level;
  return {
    loggerInstance: log.child({}, { level }),
    logController: new LogController({
      disableRequestLogging: true,
      requestIdLogLabel: 'requestId',
    }),
  };
}
