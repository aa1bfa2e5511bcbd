import { ERROR_CODES, type ErrorCode, TYPE_STATUS } from './error-codes.ts';

export type FailureType = keyof typeof TYPE_STATUS;

export const FAILURE_TYPES = Object.keys(TYPE_STATUS) as FailureType[];

/** The codes that a failure of a type may have. */
export type CodeOf<Type extends FailureType> = {
  [Code in ErrorCode]: Type extends (typeof ERROR_CODES)[Code]['types'][number] ? Code : never;
}[ErrorCode];

interface FailureDetails<Type extends FailureType> {
  /** The offending parameter, by path: `messages[2].content`, `width`. */
  param?: string;
  /** A machine code, narrower than the type: `crop_out_of_bounds`. */
  code?: CodeOf<Type>;
  /** The code of an upstream's error or of another failure, passed on as it is. */
  originalCode?: string | null;
  /** HTTP status, if it differs from that of the code or the type. */
  status?: number;
  /** HTTP status of an upstream's error response. */
  upstreamStatus?: number | null;
  /** Seconds after which the same request may succeed; sent as Retry-After. */
  retryAfter?: number;
  /** Text for the log alone, such as an upstream's own message. */
  detail?: string;
  cause?: unknown;
}

/** Original codes of a `service_error` after which a later request may succeed: their status is 503. */
const UNAVAILABLE: readonly (string | null | undefined)[] = [
  'upstream_overloaded',
  'upstream_quota',
  'upstreams_resting',
] satisfies ErrorCode[];

function statusOf(type: FailureType, code?: ErrorCode, originalCode?: string | null): number {
  if (code !== undefined) {
    const { types, status } = ERROR_CODES[code];
    return types[0] === type ? status : TYPE_STATUS[type];
  }
  return type === 'service_error' && UNAVAILABLE.includes(originalCode) ? 503 : TYPE_STATUS[type];
}

/** Every failure that Oriel reports to a client or an operator. Anything else thrown is a defect. */
export class Failure<Type extends FailureType = FailureType> extends Error {
  readonly type: FailureType;
  readonly param: string | null;
  readonly code: string | null;
  readonly status: number;
  readonly retryAfter: number | null;
  readonly upstreamStatus: number | null;
  readonly detail: string | null;

  constructor(type: Type, message: string, details: FailureDetails<Type> = {}) {
    super(message, details.cause === undefined ? {} : { cause: details.cause });
    const { code, originalCode, status, param, retryAfter, upstreamStatus, detail } = details;
    this.name = 'Failure';
    this.type = type;
    this.param = param ?? null;
    this.code = code ?? originalCode ?? null;
    this.status = status ?? statusOf(type, code, originalCode);
    this.retryAfter = retryAfter ?? null;
    this.upstreamStatus = upstreamStatus ?? null;
    this.detail = detail ?? null;
  }
}

/** How a request or a task ended; a task without `detail`. */
export type EndedWith = Pick<Failure, 'type'> & Partial<Pick<Failure, 'detail'>>;

/** Whether a limit of the client's own key, team or account refused a request. A provider's limit has its words. */
export function isOwnLimit({ type, detail }: EndedWith): boolean {
  return type === 'insufficient_quota' || (type === 'rate_limit' && detail === null);
}

/** A failure as a value. @throws anything else */
export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error;
  throw error;
}

/** A failure of the type that its code usually has. */
export function codedFailure(
  code: ErrorCode,
  message: string,
  details: Omit<FailureDetails<never>, 'code'> = {},
): Failure {
  const type: FailureType = ERROR_CODES[code].types[0]!;
  return new Failure<FailureType>(type, message, { ...details, code });
}
