import { Failure } from '../../failure.ts';
import { readError } from './xml.ts';

/** Error codes of services that a retry may overcome, beside those of statuses from 500. */
const TRANSIENT_CODES = new Set([
  'SlowDown',
  'RequestTimeout',
  'OperationAborted',
  'ConditionalRequestConflict',
]);
const TRANSIENT_STATUSES = new Set([408, 429]);

interface AttemptFault {
  /** For metrics: `slow_down`, `timeout`, `access_denied`. */
  readonly code: string;
  /** Whether the service is overloaded or away, which another attempt may overcome. */
  readonly isTransient: boolean;
  /** Whether the failure says that the service does not work. */
  readonly isOutage: boolean;
}

/** A failed attempt. */
export class AttemptError extends Error {
  readonly fault: AttemptFault;

  constructor(message: string, fault: AttemptFault, cause?: unknown) {
    super(message, { cause });
    this.fault = fault;
  }
}

/** The error of a response that is not accepted. */
export function statusError(status: number, body: Buffer): AttemptError {
  const error = readError(body.toString());
  // HEAD has no body.
  const code = error?.code ?? `status ${status}`;
  const isTransient =
    status >= 500 || TRANSIENT_STATUSES.has(status) || TRANSIENT_CODES.has(error?.code ?? '');
  const hint = status >= 300 && status < 400 ? ': the endpoint or the region is another' : '';
  return new AttemptError(`${status} ${code}${hint}${error?.message ? `: ${error.message}` : ''}`, {
    code: error === null ? `status_${status}` : snakeCase(error.code),
    isTransient,
    isOutage: isTransient,
  });
}

function snakeCase(code: string): string {
  return code
    .replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_')
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '')
    .slice(0, 64);
}

/** The error of an attempt, whatever was thrown. */
export function attemptErrorOf(error: unknown): AttemptError {
  if (error instanceof AttemptError) return error;
  if (!(error instanceof Failure)) {
    const fault = { code: 'defect', isTransient: false, isOutage: false };
    return new AttemptError(String(error), fault, error);
  }
  const { message, detail, code, type } = error;
  // A service that takes too long is not asked again within the same request.
  const fault = { code: code ?? type, isTransient: type === 'network_error', isOutage: true };
  return new AttemptError(detail === null ? message : `${message} (${detail})`, fault, error);
}
