import { Failure } from '../failure.ts';
import { redactKey } from './redaction.ts';
import { readUpstreamError } from './upstream-error.ts';
import { failureKindOf } from './upstream-failure-kind.ts';

/** Characters of a message. */
const MAX_MESSAGE_LENGTH = 1000;

/** Upper bound of Retry-After in seconds: some servers send a year. */
const MAX_RETRY_AFTER = 86_400;

interface UpstreamFailureOptions {
  /** The header `retry-after`. */
  readonly retryAfter?: string | undefined;
  /** The header `retry-after-ms`. */
  readonly retryAfterMs?: string | undefined;
  /** The provider's key, which is redacted. */
  readonly apiKey?: string | undefined;
  /** The header `location`. */
  readonly location?: string | undefined;
  /** What is wrong with an answer that has the status of a success; the log has it in place of a status. */
  readonly fault?: string;
}

/**
 * Classifies an upstream's error response.
 *
 * @param status null inside a stream
 * @param body parsed JSON, or text
 */
export function upstreamFailure(
  status: number | null,
  body: unknown,
  options: UpstreamFailureOptions = {},
): Failure {
  const error = readUpstreamError(body);
  const actualStatus = status !== null && status >= 300 ? status : error.status;
  const kind = failureKindOf(actualStatus, error);
  const redact = (text: string) => redactKey(text, options.apiKey);

  const upstreamMessage = redact(error.message);
  const message =
    kind.message === null && upstreamMessage !== ''
      ? upstreamMessage
      : `The provider ${kind.message ?? 'refused the request'}`;
  const { fault, location } = options;
  const statusText = fault ?? (actualStatus === null ? '' : `status ${actualStatus}`);
  const [target] = (location ?? '').split('?');
  const redirect = kind.code === 'upstream_redirect' && target ? `to ${redact(target)}` : '';
  const detail = [statusText, redirect, upstreamMessage].filter((part) => part !== '');
  const param = kind.type === 'invalid_request' && error.param !== null;
  const retryAfter = retryAfterOf(options) ?? limited(error.retryAfter);
  return new Failure(kind.type, truncate(message), {
    ...(kind.status !== undefined && { status: kind.status }),
    ...(kind.code !== undefined && { code: kind.code }),
    originalCode: error.code === null ? null : redact(error.code),
    ...(param && { param: redact(error.param!) }),
    ...(retryAfter !== null && { retryAfter }),
    upstreamStatus: fault === undefined ? status : null,
    detail: truncate(detail.join(': ')),
  });
}

/** Seconds until a retry, by whichever header is set. */
function retryAfterOf({ retryAfter, retryAfterMs }: UpstreamFailureOptions): number | null {
  const seconds = isNumber(retryAfterMs)
    ? Number(retryAfterMs) / 1000
    : isNumber(retryAfter)
      ? Number(retryAfter)
      : (Date.parse(retryAfter ?? '') - Date.now()) / 1000;
  return Number.isNaN(seconds) ? null : limited(seconds);
}

function limited<Seconds extends number | null>(seconds: Seconds): Seconds | number {
  return seconds === null ? seconds : Math.min(Math.max(Math.ceil(seconds), 0), MAX_RETRY_AFTER);
}

function isNumber(text: string | undefined): boolean {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text);
}

function truncate(message: string): string {
  if (message.length <= MAX_MESSAGE_LENGTH) return message;
  // Not between the halves of a surrogate pair.
  return `${message.slice(0, MAX_MESSAGE_LENGTH - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
