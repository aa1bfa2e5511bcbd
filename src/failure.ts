/** The ten error types of the interface (part 2.1) and the HTTP status each one answers with. */
const STATUS = {
  invalid_request: 400,
  auth_error: 401,
  rate_limit: 429,
  insufficient_quota: 402,
  content_policy: 400,
  timeout: 504,
  network_error: 502,
  service_error: 502,
  billable_error: 502,
  unknown: 500,
} as const;

/** Codes of a `service_error` that say that a later request may be served: they answer 503. */
const UNAVAILABLE = new Set<string | null>([
  'upstream_overloaded',
  'upstream_quota',
  'upstreams_resting',
]);

function statusOf(type: FailureType, code: string | null): number {
  return type === 'service_error' && UNAVAILABLE.has(code) ? 503 : STATUS[type];
}

export type FailureType = keyof typeof STATUS;

export const FAILURE_TYPES = Object.keys(STATUS) as FailureType[];

interface FailureDetails {
  /** The offending parameter, by path: `messages[2].content`, `width`. */
  param?: string;
  /** A machine code, narrower than the type: `crop_out_of_bounds`. */
  code?: string;
  /** Where the status of the type and the code is too coarse: 404, 413 or 415 for an invalid request. */
  status?: number;
  /** Seconds after which the same request may do better; answered as Retry-After. */
  retryAfter?: number;
  /** For the log alone: what clients may not know, such as an upstream's own words. */
  detail?: string;
  cause?: unknown;
}

/** Every failure that Oriel means to tell somebody about. Anything else thrown is a defect. */
export class Failure extends Error {
  readonly type: FailureType;
  readonly param: string | null;
  readonly code: string | null;
  readonly status: number;
  readonly retryAfter: number | null;
  readonly detail: string | null;

  constructor(type: FailureType, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    this.name = 'Failure';
    this.type = type;
    this.param = details.param ?? null;
    this.code = details.code ?? null;
    this.status = details.status ?? statusOf(type, this.code);
    this.retryAfter = details.retryAfter ?? null;
    this.detail = details.detail ?? null;
  }
}
