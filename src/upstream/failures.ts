import { codedFailure, Failure } from '../failure.ts';

/** How far a request had come when it failed. */
export type RequestPhase = 'connecting' | 'sent' | 'responding';

type Timeout = 'connect' | 'first_byte' | 'idle' | 'total';

const TIMEOUT_MESSAGES: Readonly<Record<Timeout, string>> = {
  connect: 'took too long to accept a connection',
  first_byte: 'did not begin to answer in time',
  idle: 'stopped in the middle of its answer',
  total: 'did not finish its answer in time',
};

export function timeoutFailure(timeout: Timeout, server: string, cause?: unknown): Failure {
  return new Failure('timeout', `${server} ${TIMEOUT_MESSAGES[timeout]}`, {
    code: `${timeout}_timeout`,
    cause,
  });
}

/** The failure of an aborted request. @param reason of the abort; returned as it is where it is a Failure */
export function abortedFailure(server: string, reason?: unknown): Failure {
  if (reason instanceof Failure) return reason;
  return codedFailure('aborted', `The request to ${server} was aborted`, { cause: reason });
}

/** The failure for an error that undici or the guarded connector raised. */
export function networkFailure(error: unknown, server: string, phase: RequestPhase): Failure {
  // The guarded connector raises failures of its own.
  if (error instanceof Failure) return error;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  // UND_ERR_HEADERS_TIMEOUT: a proxy did not answer to CONNECT. Undici limits no responses themselves.
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'UND_ERR_HEADERS_TIMEOUT') {
    return timeoutFailure('connect', server, error);
  }
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') {
    return abortedFailure(server, error);
  }
  if (code === 'UND_ERR_INVALID_ARG') {
    return codedFailure('upstream_request_invalid', `No request to ${server} can be made`, {
      detail: detailOf(error),
      cause: error,
    });
  }
  if (phase === 'connecting' && LOCAL_SHORTAGES.has(codeOf(error))) {
    return codedFailure('connections_exhausted', 'this server can open no connection at present', {
      retryAfter: 1,
      cause: error,
    });
  }
  return new Failure('network_error', `${server} ${BROKEN[phase]}: ${reasonOf(error)}`, {
    code: phase === 'connecting' ? 'unreachable' : 'connection_lost',
    detail: detailOf(error),
    cause: error,
  });
}

const BROKEN: Readonly<Record<RequestPhase, string>> = {
  connecting: 'cannot be reached',
  sent: 'went away before it answered',
  responding: 'went away in the middle of its answer',
};

/** System errors that say that this machine, not the other server, has no descriptors or memory left. */
const LOCAL_SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Undici's own message, which contains the address. */
function detailOf(error: unknown): string {
  const first = firstOf(error);
  return first instanceof Error ? first.message : String(first);
}

/** Sentences for system and TLS errors, whose own messages contain addresses. */
const REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  EAI_AGAIN: 'its host name cannot be looked up now',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'no route to it',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'its host name is not known',
  EPIPE: 'connection closed',
  EPROTO: 'the TLS handshake failed',
  ERR_SSL_WRONG_VERSION_NUMBER: 'this port does not speak TLS',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ESERVFAIL: 'its name server failed',
  ETIMEDOUT: 'connection timed out',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is from an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is from an unknown authority',
  UND_ERR_ABORTED: 'a proxy refused the connection',
  UND_ERR_HEADERS_OVERFLOW: 'its headers are too large',
  UND_ERR_SOCKET: 'connection closed',
};

/** Why a connection failed, without an address: clients get it, and may not know where requests go. */
function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code.startsWith('HPE_')) return 'it does not speak HTTP';
  return REASONS[code] ?? (code || 'no reason given');
}

function codeOf(error: unknown): string {
  return (firstOf(error) as NodeJS.ErrnoException | null)?.code ?? '';
}

/** A host with several addresses fails with one error for each. */
function firstOf(error: unknown): unknown {
  return error instanceof AggregateError ? error.errors[0] : error;
}
