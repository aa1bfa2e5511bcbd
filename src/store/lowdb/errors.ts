import { Failure } from '../../failure.ts';

/** What is stored is not as it was written: nothing may be built on it, and nothing be written over it. */
export function corruptStore(file: string, what: string, offset?: number): Failure {
  const where = offset === undefined ? file : `${file}, byte ${offset}`;
  const message = `${where}: ${what}. Nothing was changed; restore the data directory from a backup.`;
  return new Failure('service_error', message, { status: 500, code: 'store_corrupt' });
}

/** The disk did not take what must be written. */
export function storeUnavailable(cause: unknown, what = 'the store cannot write'): Failure {
  if (cause instanceof Failure) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  // Clients read this message: it must not contain the path, which follows the system call.
  const { syscall } = cause as NodeJS.ErrnoException;
  const end = syscall === undefined ? -1 : reason.lastIndexOf(`, ${syscall}`);
  return new Failure('service_error', `${what}: ${end === -1 ? reason : reason.slice(0, end)}`, {
    status: 503,
    code: 'store_unavailable',
    cause,
  });
}
