import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { type Failure, isOwnLimit } from '../../failure.ts';
import { toCredits } from '../../store/credits.ts';
import { randomHex } from '../../store/identifier.ts';
import type { Store } from '../../store/store.ts';
import type { Task } from '../../store/task.ts';
import type { Trace } from '../../telemetry/trace.ts';
import type { TextReport } from '../../text/canonical/report.ts';
import { outputOf } from '../observability/log.ts';
import { CLIENT_CLOSED_REQUEST } from '../transport/client-disconnect.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** How a text request was answered; null for other requests. */
    textReport: TextReport | null;
    /** Milliseconds until the first frame of a stream; null without one. */
    firstFrameMs: number | null;
    /** The media task that the request created; null for other requests. */
    task: Task | null;
    /** What the handler has returned. */
    answering: unknown;
    /** Whether the request has been logged and counted. */
    isObserved: boolean;
    /** The failure with which the request was answered; null for a success. */
    failure: Failure | null;
  }
}

/** The log line of a request. */
export interface RequestLine {
  /** From the header x-request-id if it is safe to print, else generated. */
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly milliseconds: number;
  readonly ip: string | undefined;
  /** Identifier of the API key; undefined without a valid one. */
  readonly key: string | undefined;
}

/** What the line of a request says beyond the transport: its failure, and how a text request was answered. */
export type RequestOutcome = Pick<FastifyRequest, 'failure' | 'textReport' | 'firstFrameMs'> & {
  readonly trace: Trace | null;
};

/** Characters of a failure's message in a line: it may quote the request. */
export const MAX_REASON = 300;

/**
 * Writes the log lines of requests. The line of a request is built here in 1 µs, because pino, which looks for
 * secrets to redact, takes 6 µs for the object. Keys are named by identifiers; the messages of failures are those
 * that clients get, which name no secrets.
 */
export function requestLogger(log: Logger): (line: RequestLine, outcome: RequestOutcome) => void {
  if (!log.isLevelEnabled('warn')) return () => {};
  const logsAll = log.isLevelEnabled('info');
  const output = outputOf(log);
  // With a comma in front: the number of this process, if it is one of several.
  const { process } = log.bindings();
  const number = process === undefined ? '' : `,"process":${process}`;
  return (line, outcome) => {
    const { status, method, path, milliseconds, ...details } = line;
    const level = status >= 500 ? 'warn' : 'info';
    if (level === 'info' && !logsAll) return;
    const fields = fieldsOf(outcome);
    if (output) output.write(jsonOf(level, line, fields, number));
    else log[level]({ ...details, ...fields }, `${status} ${method} ${path} ${milliseconds} ms`);
  };
}

function jsonOf(
  level: 'info' | 'warn',
  { requestId, method, path, status, milliseconds, ip, key }: RequestLine,
  fields: Readonly<Record<string, unknown>> | null,
  number: string,
): string {
  const address = ip === undefined ? '' : `,"ip":${JSON.stringify(ip)}`;
  const holder = key === undefined ? '' : `,"key":"${key}"`;
  const outcome = fields === null ? '' : `,${JSON.stringify(fields).slice(1, -1)}`;
  return (
    `{"level":"${level}","time":"${new Date().toISOString()}"${number},"requestId":"${requestId}","method":"${method}",` +
    `"path":${JSON.stringify(path)},"status":${status},"milliseconds":${milliseconds}` +
    `${address}${holder}${outcome},"msg":"request"}\n`
  );
}

/**
 * Null where there is nothing to say. Fields without a value are undefined, which JSON leaves out: an object that
 * is spread from its optional parts is slow to make and to write (6 µs).
 */
function fieldsOf({
  failure: refusal,
  textReport: report,
  firstFrameMs,
  trace,
}: RequestOutcome): Readonly<Record<string, unknown>> | null {
  const failure = refusal ?? report?.failure;
  if (!failure && report === null && trace === null) return null;
  const usage = report?.usage;
  const written = usage?.cacheWrite ? usage : undefined;
  return {
    errorType: failure?.type,
    code: failure?.code ?? undefined,
    reason: failure?.message.slice(0, MAX_REASON),
    model: report?.model ?? undefined,
    provider: report?.provider ?? undefined,
    upstreamModel: report?.upstreamModel ?? undefined,
    attempts: report?.attempts,
    cache: report?.cache ?? undefined,
    dropped: report?.dropped.length ? report.dropped : undefined,
    inputTokens: usage?.input,
    cachedInputTokens: usage?.cachedInput,
    cacheWriteTokens: written?.cacheWrite,
    cacheWrite1hTokens: written && (written.cacheWrite1h ?? 0),
    outputTokens: usage?.output,
    credits: usage ? toCredits(report!.charge) : undefined,
    traceId: trace?.context.traceId,
    firstFrameMilliseconds: firstFrameMs === null ? undefined : Math.round(firstFrameMs),
  };
}

/**
 * Adds a request for text or embeddings that failed to the day's usage of its key and model, once if it was metered too. Its cost is that of
 * a free request: the store writes all of a turn of the event loop together. Failures before the model is known,
 * refusals by a limit of the key, and clients that disconnect, do not count.
 */
export function recordError(request: FastifyRequest, status: number, store: Store): void {
  const { holder, failure, textReport: report } = request;
  if (!report || report.model === null || status === CLIENT_CLOSED_REQUEST) return;
  const cause = failure ?? report.failure;
  if (cause === null || isOwnLimit(cause)) return;
  const payer = { accountId: holder.account.id, keyId: holder.key.id };
  const metered = {
    model: report.model,
    counts: { requests: report.usage === null ? 1 : 0, errors: 1 },
    charge: 0,
    tags: report.tags,
  };
  // A key may have been deleted during its request.
  store.settle(payer, metered).catch((error: unknown) => {
    request.log.debug({ err: error, requestId: request.id }, 'an error was not counted');
  });
}

/** Identifiers from a client or a proxy that are safe to print. */
const SAFE = /^[\w.:-]{1,128}$/;

/** The identifier in a header if it is safe to print, else a new one: `req_` and 24 hexadecimal digits. */
export function newRequestId(given: string | readonly string[] | undefined): string {
  if (typeof given === 'string' && SAFE.test(given)) return given;
  return `req_${randomHex(12)}`;
}
