import { tryParseJson } from '../schema/json.ts';
import { isObject, objectsOf, textOf } from '../schema/untrusted.ts';
import { htmlSummary } from './html-summary.ts';

/** An upstream's error body in a common form. */
export interface UpstreamError {
  /** Message without control characters; empty where the body has none. */
  readonly message: string;
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  /** HTTP status that the body names; streams have no other. */
  readonly status: number | null;
  /** Seconds until a retry, which Google names in the body alone. */
  readonly retryAfter: number | null;
}

/** Characters of a message that are read. */
const MAX_MESSAGE_LENGTH = 4000;

const EMPTY: UpstreamError = {
  message: '',
  type: null,
  code: null,
  param: null,
  status: null,
  retryAfter: null,
};

/** Bodies nest an error in an error at most a few times. */
const MAX_DEPTH = 4;

/**
 * Reads the error bodies of OpenAI, Azure, Anthropic, Oriel, Google and FastAPI, similar ones, plain text and
 * HTML pages of proxies. Never throws.
 *
 * @param body parsed JSON, or text
 */
export function readUpstreamError(body: unknown, depth = MAX_DEPTH): UpstreamError {
  if (typeof body === 'string') return fromText(body, depth);
  if (depth === 0) return EMPTY;
  if (Array.isArray(body)) return readUpstreamError(body[0], depth - 1);
  if (!isObject(body)) return EMPTY;
  const fields: Readonly<Record<string, unknown>> = body;
  const { error, detail, response, errors, base_resp: minimax } = fields;
  if (typeof error === 'object' && error !== null) return readUpstreamError(error, depth - 1);
  if (isObject(minimax)) return fromMinimax(minimax);
  if (isFilled(detail)) return fromDetail(detail, depth);
  const messages = [fields['message'], fields['msg'], fields['error_description'], error];
  const message = messages.find(isFilled) ?? errors ?? response;
  const nested = typeof message === 'string' ? null : readUpstreamError(message, depth - 1);
  const { reason, retryAfter } = googleDetails(fields['details']);
  return {
    message: nested?.message ?? oneLine(message as string),
    type: codeOf(fields['type']) ?? codeOf(fields['status']) ?? nested?.type ?? null,
    code: codeOf(fields['code']) ?? reason ?? nested?.code ?? null,
    param: paramOf(fields['param']) ?? nested?.param ?? null,
    status: statusOf(fields['code']) ?? statusOf(fields['status']) ?? nested?.status ?? null,
    retryAfter: retryAfter ?? nested?.retryAfter ?? null,
  };
}

/** MiniMax's status codes by the words of other providers; all others are failures of its own. */
const MINIMAX_CODES = new Map<unknown, string>([
  [1001, 'timeout'],
  [1002, 'rate_limit_exceeded'],
  [1004, 'invalid_api_key'],
  [1008, 'insufficient_balance'],
  [1026, 'content_filter'],
  [1027, 'content_filter'],
  [1039, 'rate_limit_exceeded'],
  [1041, 'rate_limit_exceeded'],
  [1042, 'invalid_request'],
  [2013, 'invalid_request'],
  [2049, 'invalid_api_key'],
  [2056, 'rate_limit_exceeded'],
]);

function fromMinimax({ status_code: status, status_msg: message }: Record<string, unknown>) {
  const code = MINIMAX_CODES.get(status) ?? 'server_error';
  return { ...EMPTY, message: oneLine(textOf(message)), code };
}

/** The reason of Google's ErrorInfo, such as API_KEY_INVALID, and the delay of its RetryInfo, such as 34.07s. */
function googleDetails(details: unknown): Pick<UpstreamError, 'retryAfter'> & {
  readonly reason: string | null;
} {
  let reason: string | null = null;
  let retryAfter: number | null = null;
  for (const fields of objectsOf(details).slice(0, 20)) {
    reason ??= codeOf(fields['reason']);
    const delay = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(String(fields['retryDelay']))?.[1];
    if (delay !== undefined) retryAfter ??= Number(delay);
  }
  return { reason, retryAfter };
}

function isFilled(value: unknown): boolean {
  return (
    (typeof value === 'string' && value !== '') || (typeof value === 'object' && value !== null)
  );
}

function fromText(text: string, depth: number): UpstreamError {
  const start = text.slice(0, 1000).trimStart();
  if (/^[{[]/.test(start) && text.length < 1_000_000) {
    const body = tryParseJson(text);
    if (body !== undefined) return readUpstreamError(body, depth - 1);
  }
  return { ...EMPTY, message: oneLine(htmlSummary(text) ?? text) };
}

/** FastAPI's `detail` is a sentence, or a list of faults with the path of each field. */
function fromDetail(detail: unknown, depth: number): UpstreamError {
  if (!Array.isArray(detail)) return readUpstreamError(detail, depth - 1);
  const faults = detail.slice(0, 10).map((fault) => readUpstreamError(fault, 1));
  const messages = faults.map(({ message }) => message).filter((message) => message !== '');
  const location = (detail[0] as { loc?: unknown } | null | undefined)?.loc;
  return { ...EMPTY, message: oneLine(messages.join('; ')), param: pathOf(location) };
}

/** Turns `['body', 'messages', 0, 'content']` into `messages[0].content`. */
function pathOf(location: unknown): string | null {
  if (!Array.isArray(location)) return null;
  const steps = location.slice(location[0] === 'body' ? 1 : 0, 20);
  const path = steps
    .map((step) =>
      typeof step === 'number' ? `[${step}]` : typeof step === 'string' ? `.${step}` : '',
    )
    .join('');
  return paramOf(path.replace(/^\./, ''));
}

function codeOf(value: unknown): string | null {
  if (typeof value !== 'string' || !/^[\w.-]{1,64}$/.test(value)) return null;
  // Azure's code is often the status.
  return statusOf(value) === null ? value : null;
}

function paramOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? oneLine(value).slice(0, 200) : null;
}

function statusOf(value: unknown): number | null {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return Number.isInteger(status) && (status as number) >= 300 && (status as number) < 600
    ? (status as number)
    : null;
}

/** Replaces line breaks, control and bidirectional characters by spaces, and cuts to the maximum length. */
function oneLine(text: string): string {
  return text
    .slice(0, MAX_MESSAGE_LENGTH)
    .replace(/[\s\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]+/gu, ' ')
    .trim();
}
