import { Failure } from '../failure.ts';

/** How far a request had come when it failed. */
export type RequestPhase = 'connecting' | 'sent' | 'responding';

type Timeout = 'connect' | 'first_byte' | 'idle' | 'total';

const TIMEOUT_MESSAGES: Readonly<Record<Timeout, string>> = {
  connect: 'took too long to accept a connection',
  first_byte: 'did not begin to answer in time',
  idle: 'stopped in the middle of its answer',
  total: 'did not finish its answer in time',
};

const CODES = {
  connect: 'connect_timeout',
  first_byte: 'first_byte_timeout',
  idle: 'idle_timeout',
  total: 'total_timeout',
} as const;

export function timeoutFailure(timeout: Timeout, server: string, cause?: unknown): Failure {
  return new Failure('timeout', `${server} ${TIMEOUT_MESSAGES[timeout]}`, {
    code: CODES[timeout],
    cause,
  });
}

/** The failure of an aborted request. @param reason of the abort; returned as it is where it is a Failure */
export function abortedFailure(server: string, reason?: unknown): Failure {
  if (reason instanceof Failure) return reason;
  return new Failure('network_error', `The request to ${server} was aborted`, {
    code: 'aborted',
    cause: reason,
  });
}

/** The failure for an error that undici or the guarded connector raised. */
export function networkFailure(error: unknown, server: string, phase: RequestPhase): Failure {
  // The guarded connector raises failures of its own.
  if (error instanceof Failure) return error;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return timeoutFailure('connect', server, error);
  // The proxy did not answer to CONNECT: responses themselves have no timeout of undici's.
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return timeoutFailure('connect', server, error);
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED')
    return abortedFailure(server, error);
  if (code === 'UND_ERR_INVALID_ARG') {
    return new Failure('service_error', `No request to ${server} can be made`, {
      code: 'upstream_request_invalid',
      detail: detailOf(error),
      cause: error,
    });
  }
  if (phase === 'connecting' && LOCAL_SHORTAGES.has(codeOf(error))) {
    return new Failure('service_error', 'this server can open no connection at present', {
      code: 'connections_exhausted',
      retryAfter: 1,
      cause: error,
    });
  }
  if (phase === 'connecting') {
    return new Failure('network_error', `${server} cannot be reached: ${reasonOf(error)}`, {
      code: 'unreachable',
      detail: detailOf(error),
      cause: error,
    });
  }
  const when = phase === 'sent' ? 'before it answered' : 'in the middle of its answer';
  return new Failure('network_error', `${server} went away ${when}: ${reasonOf(error)}`, {
    code: 'connection_lost',
    detail: detailOf(error),
    cause: error,
  });
}

/** System errors that say that this machine, not the other server, has no descriptors or memory left. */
const LOCAL_SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Undici's own message, which contains the address. */
function detailOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}

/** Sentences for system and TLS errors, whose own messages contain addresses. */
const REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  EAI_AGAIN: 'its name cannot be looked up now',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to it',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'its name is not known',
  EPIPE: 'connection closed',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ESERVFAIL: 'its name server failed',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_ABORTED: 'a proxy refused the connection',
  UND_ERR_SOCKET: 'connection closed',
};

/** Why a connection failed, without an address: clients get it, and may not know where requests go. */
function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code.startsWith('HPE_')) return 'it does not speak HTTP';
  return REASONS[code] ?? (code || 'no reason given');
}

function codeOf(error: unknown): string {
  // A host with several addresses fails with one error for each.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return (first as NodeJS.ErrnoException | null)?.code ?? '';
}
