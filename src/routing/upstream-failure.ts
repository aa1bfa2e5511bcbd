import type { ErrorCode } from '../error-codes.ts';
import { Failure, type FailureType } from '../failure.ts';
import { readComplaint } from './complaint.ts';
import { type Origin, withoutOrigin, withoutSecret } from './redaction.ts';

/** What may be wrong at an upstream. */
interface Kind {
  readonly type: FailureType;
  readonly status?: number;
  /** The code for clients, where the upstream's own would mean something else to them. */
  readonly code?: ErrorCode;
  /**
   * What clients are told, while the upstream's words, which may name it, go to the log; null where
   * its words are for the client.
   */
  readonly says: string | null;
  /** A word for it is surer than the status that it came with. */
  readonly sure?: boolean;
}

const KINDS = {
  invalid: { type: 'invalid_request', says: null },
  tooLarge: { type: 'invalid_request', status: 413, says: null },
  missing: { type: 'invalid_request', status: 404, says: null },
  content: { type: 'content_policy', says: null, sure: true },
  rate: { type: 'rate_limit', says: 'takes no more requests for now', sure: true },
  auth: {
    type: 'service_error',
    code: 'upstream_auth',
    says: "did not accept the gateway's credentials",
  },
  quota: {
    type: 'service_error',
    code: 'upstream_quota',
    says: 'has no credit left for the gateway',
    sure: true,
  },
  notFound: {
    type: 'service_error',
    code: 'upstream_not_found',
    says: 'does not know the model or the address',
    sure: true,
  },
  refused: { type: 'service_error', code: 'upstream_refused', says: 'refused the request' },
  redirect: {
    type: 'service_error',
    code: 'upstream_redirect',
    says: 'is at another address than the configuration tells',
  },
  conflict: { type: 'service_error', code: 'upstream_conflict', says: 'was not ready' },
  late: { type: 'timeout', code: 'upstream_timeout', says: 'did not finish in time' },
  overloaded: {
    type: 'service_error',
    code: 'upstream_overloaded',
    says: 'is overloaded',
    sure: true,
  },
  failed: { type: 'service_error', code: 'upstream_failed', says: 'failed' },
  billable: {
    type: 'billable_error',
    code: 'upstream_failed',
    says: 'failed, and charged for it',
    sure: true,
  },
} as const satisfies Readonly<Record<string, Kind>>;

type KindName = keyof typeof KINDS;

const STATUSES = new Map<number, KindName>([
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

/** What upstreams put into `type` and `code`, by what they mean. */
const WORDS = new Map<string, KindName>(
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
      'context_length_exceeded',
      'unsupported_parameter',
      'unsupported_value',
      'previous_response_not_found',
    ],
    tooLarge: ['request_too_large'],
    content: [
      'content_filter',
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
    billable: ['billable_error'],
  } satisfies Partial<Record<KindName, readonly string[]>>).flatMap(([kind, words]) =>
    words.map((word) => [word, kind as KindName] as const),
  ),
);

/** Anthropic says this as an invalid request. */
const NO_CREDIT = 'Your credit balance is too low';

/** Characters of a message. */
const LONGEST = 1000;

/** Seconds; no client waits longer, and some servers name a year. */
const LONGEST_WAIT = 86_400;

interface UpstreamFailureOptions {
  /** The header `retry-after`, as it came. */
  readonly retryAfter?: string | undefined;
  /** The header `retry-after-ms`, as it came. */
  readonly retryAfterMs?: string | undefined;
  /** What may be in no message: the provider's key. */
  readonly secret?: string | undefined;
}

/**
 * What went wrong at an upstream, by what it said about it.
 *
 * @param status null inside a stream
 * @param body parsed JSON, or text
 */
export function upstreamFailure(
  status: number | null,
  body: unknown,
  options: UpstreamFailureOptions = {},
): Failure {
  const complaint = readComplaint(body);
  const said = status !== null && status >= 300 ? status : complaint.status;
  const name = kindOf(said, complaint);
  const kind: Kind = KINDS[name];
  const clean = (text: string) => withoutSecret(text, options.secret);

  const words = clean(complaint.message);
  const message =
    kind.says === null && words !== ''
      ? words
      : `The provider ${kind.says ?? 'refused the request'}`;
  const detail = [said === null ? '' : `status ${said}`, words].filter((part) => part !== '');
  const param = kind.type === 'invalid_request' && complaint.param !== null;
  const wait = waitOf(options);
  return new Failure(kind.type, cut(message), {
    ...(kind.status !== undefined && { status: kind.status }),
    ...(kind.code !== undefined && { code: kind.code }),
    originalCode: complaint.code === null ? null : clean(complaint.code),
    ...(param && { param: clean(complaint.param!) }),
    ...(wait !== null && { retryAfter: wait }),
    detail: cut(detail.join(': ')),
  });
}

interface Said {
  readonly type: string | null;
  readonly code: string | null;
  readonly param: string | null;
  readonly message: string;
}

function kindOf(status: number | null, { type, code, param, message }: Said): KindName {
  const words = [code, type].flatMap((word) => WORDS.get(word?.toLowerCase() ?? '') ?? []);
  // What is not there may be something else that the request names, such as an earlier answer.
  if (status === 404 && param !== null && param !== 'model') return 'missing';
  const sure = words.find((word) => (KINDS[word] as Kind).sure);
  if (sure !== undefined) return sure;
  if (message.startsWith(NO_CREDIT)) return 'quota';
  return (status === null ? undefined : byStatus(status)) ?? words[0] ?? 'failed';
}

function byStatus(status: number): KindName | undefined {
  const known = STATUSES.get(status);
  if (known !== undefined) return known;
  if (status >= 500) return 'failed';
  if (status >= 400) return 'refused';
  return status >= 300 ? 'redirect' : undefined;
}

/** Seconds, of the two headers that tell it. */
function waitOf({ retryAfter, retryAfterMs }: UpstreamFailureOptions): number | null {
  const seconds = isNumber(retryAfterMs)
    ? Number(retryAfterMs) / 1000
    : isNumber(retryAfter)
      ? Number(retryAfter)
      : (Date.parse(retryAfter ?? '') - Date.now()) / 1000;
  return Number.isNaN(seconds) ? null : Math.min(Math.max(Math.ceil(seconds), 0), LONGEST_WAIT);
}

function isNumber(text: string | undefined): boolean {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text);
}

function cut(message: string): string {
  if (message.length <= LONGEST) return message;
  // Not between the halves of a character.
  return `${message.slice(0, LONGEST - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

interface Hope {
  /** The same request to the same route may do better. */
  readonly again: boolean;
  /** Another route may do better. */
  readonly elsewhere: boolean;
}

const NOWHERE: Hope = { again: false, elsewhere: false };
const ELSEWHERE: Hope = { again: false, elsewhere: true };
const AGAIN: Hope = { again: true, elsewhere: true };

const HOPE_BY_TYPE: Readonly<Record<FailureType, Hope>> = {
  invalid_request: NOWHERE,
  auth_error: NOWHERE,
  rate_limit: AGAIN,
  insufficient_quota: NOWHERE,
  content_policy: NOWHERE,
  timeout: AGAIN,
  network_error: AGAIN,
  service_error: AGAIN,
  billable_error: NOWHERE,
  unknown: NOWHERE,
};

/** Codes that say more than their types. */
const HOPE_BY_CODE = new Map<string, Hope>([
  ['upstream_auth', ELSEWHERE],
  ['upstream_quota', ELSEWHERE],
  ['upstream_not_found', ELSEWHERE],
  ['upstream_refused', ELSEWHERE],
  ['upstream_redirect', ELSEWHERE],
  ['upstream_request_invalid', ELSEWHERE],
  ['upstream_answer_too_large', ELSEWHERE],
  ['upstream_answer_unreadable', ELSEWHERE],
  // Who has waited this long would wait as long again.
  ['first_byte_timeout', ELSEWHERE],
  ['idle_timeout', ELSEWHERE],
  // No time is left.
  ['total_timeout', NOWHERE],
  // No descriptor is left here: no provider is to blame, and none can be reached.
  ['connections_exhausted', { again: true, elsewhere: false }],
  ['aborted', NOWHERE],
]);

/** Whether the provider refuses the gateway itself: its key, or its account. */
export function needsOperator({ type, code }: Failure): boolean {
  return type === 'service_error' && (code === 'upstream_auth' || code === 'upstream_quota');
}

/** The same request to the same route may do better. */
export function isRetriable(failure: Failure): boolean {
  return hopeOf(failure).again;
}

/** Another route may do better. */
export function isRoutable(failure: Failure): boolean {
  return hopeOf(failure).elsewhere;
}

function hopeOf({ type, code }: Failure): Hope {
  const byType = HOPE_BY_TYPE[type];
  // A code that the upstream chose cannot make a fault of the request anybody else's.
  return byType.elsewhere ? (HOPE_BY_CODE.get(code ?? '') ?? byType) : byType;
}

/** A failure that does not tell the provider's key, wherever in a stream it was found. */
export function withoutKey(failure: Failure, secret: string | undefined): Failure {
  const message = withoutSecret(failure.message, secret);
  const param = failure.param === null ? null : withoutSecret(failure.param, secret);
  const code = failure.code === null ? null : withoutSecret(failure.code, secret);
  const detail = failure.detail === null ? null : withoutSecret(failure.detail, secret);
  return rephrased(failure, { message, param, code, detail });
}

/**
 * A failure of a provider as its client is told it: without the key, the provider's name and
 * addresses. The detail, which is for the log, keeps the latter two.
 */
export function forClient(failure: Failure, origin: Origin): Failure {
  const keyless = withoutKey(failure, origin.apiKey);
  const { param, code, detail } = keyless;
  // Words of ours name nobody.
  if (detail === null) return keyless;
  const message = withoutOrigin(keyless.message, origin);
  return rephrased(keyless, { message, param, code, detail });
}

type Words = Pick<Failure, 'message' | 'param' | 'code' | 'detail'>;

function rephrased(failure: Failure, { message, param, code, detail }: Words): Failure {
  const isSame =
    message === failure.message &&
    param === failure.param &&
    code === failure.code &&
    detail === failure.detail;
  if (isSame) return failure;
  const { type, status, retryAfter, cause } = failure;
  return new Failure(type, message, {
    status,
    cause,
    ...(param !== null && { param }),
    originalCode: code,
    ...(detail !== null && { detail }),
    ...(retryAfter !== null && { retryAfter }),
  });
}
