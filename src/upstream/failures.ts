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

export function lateFailure(limit: Limit, host: string, cause?: unknown): Failure {
  return new Failure('timeout', `${host} ${LATE[limit]}`, { code: `${limit}_timeout`, cause });
}

/** @param why the reason of who let go; a Failure stands for itself */
export function abortedFailure(host: string, why?: unknown): Failure {
  if (why instanceof Failure) return why;
  return new Failure('network_error', `The request to ${host} was let go`, {
    code: 'aborted',
    cause: why,
  });
}

/** Why a request came to nothing, by what the library threw and how far it had come. */
export function networkFailure(error: unknown, host: string, progress: Progress): Failure {
  // The guard of connections has said what is wrong.
  if (error instanceof Failure) return error;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return lateFailure('connect', host, error);
  if (code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED') return abortedFailure(host, error);
  if (code === 'UND_ERR_INVALID_ARG') {
    return new Failure('service_error', `No request to ${host} can be made: ${reason(error)}`, {
      code: 'upstream_request_invalid',
      cause: error,
    });
  }
  if (progress === 'connecting') {
    return new Failure('network_error', `${host} cannot be reached: ${reason(error)}`, {
      code: 'unreachable',
      cause: error,
    });
  }
  const when = progress === 'sent' ? 'before it answered' : 'in the middle of its answer';
  return new Failure('network_error', `${host} went away ${when}: ${reason(error)}`, {
    code: 'connection_lost',
    cause: error,
  });
}

/** A host with several addresses fails with one error for each and no message of its own. */
function reason(error: unknown): string {
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error && first.message !== '' ? first.message : 'no reason given';
}
