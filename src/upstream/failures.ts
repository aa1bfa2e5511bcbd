import { Failure } from '../failure.ts';

/** How far a request had come. */
export type Progress = 'connecting' | 'sent' | 'answering';

type Limit = 'connect' | 'first_byte' | 'idle' | 'total';

const LATE: Readonly<Record<Limit, string>> = {
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

export function lateFailure(limit: Limit, server: string, cause?: unknown): Failure {
  return new Failure('timeout', `${server} ${LATE[limit]}`, { code: CODES[limit], cause });
}

/** @param why the reason of who let go; a Failure stands for itself */
export function abortedFailure(server: string, why?: unknown): Failure {
  if (why instanceof Failure) return why;
  return new Failure('network_error', `The request to ${server} was let go`, {
    code: 'aborted',
    cause: why,
  });
}

/** Why a request came to nothing, by what the library threw and how far it had come. */
export function networkFailure(error: unknown, server: string, progress: Progress): Failure {
  // The guard of connections has said what is wrong.
  if (error instanceof Failure) return error;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return lateFailure('connect', server, error);
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED')
    return abortedFailure(server, error);
  if (code === 'UND_ERR_INVALID_ARG') {
    return new Failure('service_error', `No request to ${server} can be made`, {
      code: 'upstream_request_invalid',
      detail: detailOf(error),
      cause: error,
    });
  }
  if (progress === 'connecting' && SHORTAGES.has(codeOf(error))) {
    return new Failure('service_error', 'this server can open no connection at present', {
      code: 'connections_exhausted',
      retryAfter: 1,
      cause: error,
    });
  }
  if (progress === 'connecting') {
    return new Failure('network_error', `${server} cannot be reached: ${reason(error)}`, {
      code: 'unreachable',
      detail: detailOf(error),
      cause: error,
    });
  }
  const when = progress === 'sent' ? 'before it answered' : 'in the middle of its answer';
  return new Failure('network_error', `${server} went away ${when}: ${reason(error)}`, {
    code: 'connection_lost',
    detail: detailOf(error),
    cause: error,
  });
}

/** Errors of the system that are no fault of the other server: descriptors or memory ran out here. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);
/** The library's own words, with the address that it connected to. */
function detailOf(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}

/** Words for errors of the system and of TLS, whose own messages tell addresses. */
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
  UND_ERR_SOCKET: 'connection closed',
};

/** Why a connection failed, without an address: clients are told, and may not know where requests go. */
function reason(error: unknown): string {
  const code = codeOf(error);
  if (code.startsWith('HPE_')) return 'it does not speak HTTP';
  return REASONS[code] ?? (code || 'no reason given');
}

function codeOf(error: unknown): string {
  // A host with several addresses fails with one error for each.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return (first as NodeJS.ErrnoException | null)?.code ?? '';
}
