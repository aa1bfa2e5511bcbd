import type { ErrorCode } from '../error-codes.ts';
import { Failure, type FailureType } from '../failure.ts';
import { redactKey } from './redaction.ts';
import { readUpstreamError, type UpstreamError } from './upstream-error.ts';

/** A kind of upstream failure. */
interface Kind {
  readonly type: FailureType;
  readonly status?: number;
  /** Oriel's code, where the upstream's own would mean something else to the client. */
  readonly code?: ErrorCode;
  /**
   * Message for clients, after "The provider", while the upstream's message, which may name it, goes
   * to the log; null where clients get the upstream's message.
   */
  readonly message: string | null;
  /** Whether an error code of this kind outweighs the status that it came with. */
  readonly outweighsStatus?: boolean;
}

const KINDS = {
  invalid: { type: 'invalid_request', message: null },
  overflow: {
    type: 'invalid_request',
    code: 'context_length_exceeded',
    message: null,
    outweighsStatus: true,
  },
  tooLarge: { type: 'invalid_request', status: 413, message: null },
  missing: { type: 'invalid_request', status: 404, message: null },
  content: { type: 'content_policy', message: null, outweighsStatus: true },
  rate: { type: 'rate_limit', message: 'takes no more requests for now', outweighsStatus: true },
  auth: {
    type: 'service_error',
    code: 'upstream_auth',
    message: "did not accept the gateway's credentials",
  },
  quota: {
    type: 'service_error',
    code: 'upstream_quota',
    message: 'has no credit left for the gateway',
    outweighsStatus: true,
  },
  notFound: {
    type: 'service_error',
    code: 'upstream_not_found',
    message: 'does not know the model or the address',
    outweighsStatus: true,
  },
  refused: { type: 'service_error', code: 'upstream_refused', message: 'refused the request' },
  redirect: {
    type: 'service_error',
    code: 'upstream_redirect',
    message: 'is at another address than the configured one',
  },
  conflict: { type: 'service_error', code: 'upstream_conflict', message: 'was not ready' },
  late: { type: 'timeout', code: 'upstream_timeout', message: 'did not finish in time' },
  overloaded: {
    type: 'service_error',
    code: 'upstream_overloaded',
    message: 'is overloaded',
    outweighsStatus: true,
  },
  failed: { type: 'service_error', code: 'upstream_failed', message: 'failed' },
  billable: {
    type: 'billable_error',
    code: 'upstream_failed',
    message: 'failed, and charged for it',
    outweighsStatus: true,
  },
} as const satisfies Readonly<Record<string, Kind>>;

type KindName = keyof typeof KINDS;

const KIND_BY_STATUS = new Map<number, KindName>([
  [400, 'invalid'],
  [401, 'auth'],
  [402, 'quota'],
  [403, 'auth'],
  [404, 'notFound'],
  [405, 'notFound'],
  [408, 'late'],
  [409, 'conflict'],
  [410, 'notFound'],
  [413, 'tooLarge'],
  [422, 'invalid'],
  [425, 'conflict'],
  [429, 'rate'],
  [504, 'late'],
  [524, 'late'],
  [529, 'overloaded'],
]);

/** Values of `type` and `code` in upstreams' error bodies. */
const KIND_BY_ERROR_CODE = new Map<string, KindName>(
  Object.entries({
    invalid: [
      'invalid_request_error',
      'invalid_request',
      'invalid_argument',
      'invalid_prompt',
      'invalid_value',
      'bad_request',
      'bad_request_error',
      'validation_error',
      'unsupported_parameter',
      'unsupported_value',
      'previous_response_not_found',
    ],
    overflow: [
      'context_length_exceeded',
      'context_window_exceeded',
      'exceed_context_size_error',
      'model_max_prompt_tokens_exceeded',
    ],
    tooLarge: ['request_too_large'],
    content: [
      'content_filter',
      'contentfilter',
      'content_policy',
      'content_policy_violation',
      'responsibleaipolicyviolation',
      'moderation_blocked',
      'data_inspection_failed',
    ],
    rate: [
      'rate_limit',
      'rate_limit_error',
      'rate_limit_exceeded',
      'too_many_requests',
      'resource_exhausted',
    ],
    auth: [
      'api_key_invalid',
      'auth_error',
      'authentication_error',
      'invalid_api_key',
      'invalid_authentication',
      'permission_error',
      'permission_denied',
      'unauthenticated',
      'unauthorized',
    ],
    quota: [
      'insufficient_quota',
      'billing_error',
      'billing_hard_limit_reached',
      'billing_not_active',
      'insufficient_balance',
      'payment_required',
    ],
    notFound: ['model_not_found', 'not_found_error', 'model_not_available', 'deploymentnotfound'],
    late: ['timeout', 'timeout_error', 'request_timeout', 'deadline_exceeded', 'gateway_timeout'],
    overloaded: [
      'overloaded',
      'overloaded_error',
      'server_overloaded',
      'server_is_overloaded',
      'engine_overloaded',
      'slow_down',
      'unavailable',
    ],
    failed: [
      'server_error',
      'api_error',
      'internal',
      'internal_error',
      'internal_server_error',
      'service_error',
      'network_error',
      'unknown',
    ],
    refused: ['failed_precondition'],
    billable: ['billable_error'],
  } satisfies Partial<Record<KindName, readonly string[]>>).flatMap(([kind, codes]) =>
    codes.map((code) => [code, kind as KindName] as const),
  ),
);

/** Message of Anthropic's for missing credit, whose error type is `invalid_request_error`. */
const NO_CREDIT_MESSAGE = 'Your credit balance is too low';

/** The words of providers and inference servers for an input that is longer than the model's context. */
const OVERFLOW_MESSAGE = new RegExp(
  [
    'context (?:length|window|size|limit)',
    'prompt (?:is|was) too (?:long|large)',
    'prompt \\(.{1,40}\\) is (?:too long|longer than)',
    'prompt exceeds max',
    'prompt 超长',
    'prompt tokens? too long',
    'maximum prompt length',
    'input is too long',
    '(?:input|prompt) length.{1,40}exceed',
    'input tokens.{1,20}exceed',
    'exceed max message tokens',
    'max_seq_len',
    'max size: \\d+ tokens',
    'range of input length',
    'too many (?:input )?tokens',
    'token count.{1,40}exceed',
    'token count is \\d+ but',
    "exceed(?:s|ed) (?:the )?model(?:'s)? token limit",
    'reduce the length of the (?:messages|prompt|input)',
    '`inputs`.{1,60}(?:must have less than|must be <=)',
  ].join('|'),
  'i',
);

/** Kinds of errors that may be an overflow by their message: rate limits speak of too many tokens as well. */
const MAY_BE_OVERFLOW: ReadonlySet<KindName> = new Set([
  'invalid',
  'tooLarge',
  'refused',
  'failed',
]);

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
  const kind: Kind = KINDS[kindOf(actualStatus, error)];
  const redact = (text: string) => redactKey(text, options.apiKey);

  const upstreamMessage = redact(error.message);
  const message =
    kind.message === null && upstreamMessage !== ''
      ? upstreamMessage
      : `The provider ${kind.message ?? 'refused the request'}`;
  const statusText = actualStatus === null ? '' : `status ${actualStatus}`;
  const detail = [statusText, upstreamMessage].filter((part) => part !== '');
  const param = kind.type === 'invalid_request' && error.param !== null;
  const retryAfter = retryAfterOf(options) ?? limited(error.retryAfter);
  return new Failure(kind.type, truncate(message), {
    ...(kind.status !== undefined && { status: kind.status }),
    ...(kind.code !== undefined && { code: kind.code }),
    originalCode: error.code === null ? null : redact(error.code),
    ...(param && { param: redact(error.param!) }),
    ...(retryAfter !== null && { retryAfter }),
    upstreamStatus: status,
    detail: truncate(detail.join(': ')),
  });
}

function kindOf(
  status: number | null,
  error: Omit<UpstreamError, 'status' | 'retryAfter'>,
): KindName {
  const kind = kindByCodes(status, error);
  return MAY_BE_OVERFLOW.has(kind) && OVERFLOW_MESSAGE.test(error.message) ? 'overflow' : kind;
}

function kindByCodes(
  status: number | null,
  { type, code, param, message }: Omit<UpstreamError, 'status' | 'retryAfter'>,
): KindName {
  const kinds = [code, type].flatMap(
    (word) => KIND_BY_ERROR_CODE.get(word?.toLowerCase() ?? '') ?? [],
  );
  // A 404 may be for something that the request names other than the model, such as an earlier response.
  if (status === 404 && param !== null && param !== 'model') return 'missing';
  const certain = kinds.find((kind) => (KINDS[kind] as Kind).outweighsStatus);
  if (certain !== undefined) return certain;
  if (message.startsWith(NO_CREDIT_MESSAGE)) return 'quota';
  // Google refuses a wrong key, and an account or a place that it does not serve, with 400.
  if (status === 400 && (kinds[0] === 'auth' || kinds[0] === 'refused')) return kinds[0];
  return (status === null ? undefined : byStatus(status)) ?? kinds[0] ?? 'failed';
}

function byStatus(status: number): KindName | undefined {
  const known = KIND_BY_STATUS.get(status);
  if (known !== undefined) return known;
  if (status >= 500) return 'failed';
  if (status >= 400) return 'refused';
  return status >= 300 ? 'redirect' : undefined;
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
