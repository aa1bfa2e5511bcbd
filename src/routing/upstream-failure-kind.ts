import type { ErrorCode } from '../error-codes.ts';
import type { FailureType } from '../failure.ts';
import { words } from '../words.ts';
import type { UpstreamError } from './upstream-error.ts';

/** A kind of upstream failure. */
export interface FailureKind {
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
  /** HTTP statuses of the kind. */
  readonly statuses?: readonly number[];
  /** Values of `type` and `code` in upstreams' error bodies, with white space between them. */
  readonly codes?: string;
}

const KINDS = {
  invalid: {
    type: 'invalid_request',
    message: null,
    statuses: [400, 422],
    codes: `invalid_request_error invalid_request invalid_argument invalid_prompt invalid_value
      bad_request bad_request_error validation_error unsupported_parameter
      unsupported_value previous_response_not_found`,
  },
  overflow: {
    type: 'invalid_request',
    code: 'context_length_exceeded',
    message: null,
    outweighsStatus: true,
    codes: `context_length_exceeded context_window_exceeded exceed_context_size_error
      model_max_prompt_tokens_exceeded`,
  },
  tooLarge: {
    type: 'invalid_request',
    status: 413,
    message: null,
    statuses: [413],
    codes: 'request_too_large',
  },
  missing: { type: 'invalid_request', status: 404, message: null },
  content: {
    type: 'content_policy',
    message: null,
    outweighsStatus: true,
    codes: `content_filter contentfilter content_policy content_policy_violation
      responsibleaipolicyviolation moderation_blocked data_inspection_failed`,
  },
  rate: {
    type: 'rate_limit',
    message: 'takes no more requests for now',
    outweighsStatus: true,
    statuses: [429],
    codes: `rate_limit rate_limit_error rate_limit_exceeded too_many_requests resource_exhausted`,
  },
  auth: {
    type: 'service_error',
    code: 'upstream_auth',
    message: "did not accept the gateway's credentials",
    statuses: [401, 403],
    codes: `api_key_invalid auth_error authentication_error invalid_api_key
      invalid_authentication permission_error permission_denied unauthenticated
      unauthorized`,
  },
  quota: {
    type: 'service_error',
    code: 'upstream_quota',
    message: 'has no credit left for the gateway',
    outweighsStatus: true,
    statuses: [402],
    codes: `insufficient_quota billing_error billing_hard_limit_reached billing_not_active
      insufficient_balance payment_required`,
  },
  notFound: {
    type: 'service_error',
    code: 'upstream_not_found',
    message: 'does not know the model or the address',
    outweighsStatus: true,
    statuses: [404, 405, 410],
    codes: 'model_not_found not_found_error model_not_available deploymentnotfound',
  },
  refused: {
    type: 'service_error',
    code: 'upstream_refused',
    message: 'refused the request',
    codes: 'failed_precondition',
  },
  redirect: {
    type: 'service_error',
    code: 'upstream_redirect',
    message: 'is at another address than the configured one',
  },
  conflict: {
    type: 'service_error',
    code: 'upstream_conflict',
    message: 'was not ready',
    statuses: [409, 425],
  },
  late: {
    type: 'timeout',
    code: 'upstream_timeout',
    message: 'did not finish in time',
    statuses: [408, 504, 524],
    codes: 'timeout timeout_error request_timeout deadline_exceeded gateway_timeout',
  },
  overloaded: {
    type: 'service_error',
    code: 'upstream_overloaded',
    message: 'is overloaded',
    outweighsStatus: true,
    statuses: [529],
    codes: `overloaded overloaded_error server_overloaded server_is_overloaded engine_overloaded
      slow_down unavailable`,
  },
  failed: {
    type: 'service_error',
    code: 'upstream_failed',
    message: 'failed',
    codes: `server_error api_error internal internal_error internal_server_error service_error
      network_error unknown`,
  },
  billable: {
    type: 'billable_error',
    code: 'upstream_failed',
    message: 'failed, and charged for it',
    outweighsStatus: true,
    codes: 'billable_error',
  },
} as const satisfies Readonly<Record<string, FailureKind>>;

type KindName = keyof typeof KINDS;

const NAMED_KINDS = Object.entries<FailureKind>(KINDS) as [KindName, FailureKind][];

const KIND_BY_STATUS = new Map(
  NAMED_KINDS.flatMap(([name, { statuses = [] }]) => statuses.map((status) => [status, name])),
);

const KIND_BY_CODE = new Map(
  NAMED_KINDS.flatMap(([name, { codes = '' }]) => words(codes).map((code) => [code, name])),
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

type ErrorWords = Omit<UpstreamError, 'status' | 'retryAfter'>;

/** Classifies an upstream's error. @param status null inside a stream */
export function failureKindOf(status: number | null, error: ErrorWords): FailureKind {
  const name = kindByCodes(status, error);
  const isOverflow = MAY_BE_OVERFLOW.has(name) && OVERFLOW_MESSAGE.test(error.message);
  return KINDS[isOverflow ? 'overflow' : name];
}

function kindByCodes(status: number | null, { type, code, param, message }: ErrorWords): KindName {
  const kinds = [code, type].flatMap((word) => KIND_BY_CODE.get(word?.toLowerCase() ?? '') ?? []);
  // A 404 may be for something that the request names other than the model, such as an earlier response.
  if (status === 404 && param !== null && param !== 'model') return 'missing';
  const certain = kinds.find((kind) => (KINDS[kind] as FailureKind).outweighsStatus);
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
