import { codedFailure, Failure } from '../../../../failure.ts';

/** A stored file differs from what was written. The store must neither use nor overwrite it. */
export function corruptStore(file: string, what: string, offset?: number): Failure {
  const where = offset === undefined ? file : `${file}, byte ${offset}`;
  const message = `${where}: ${what}. Nothing was changed; restore the data directory from a backup.`;
  return codedFailure('store_corrupt', message);
}

/** A later program has written the store. */
export function newerStore(file: string, version: number, known: number): Failure {
  const message = `a later version of Oriel has written this store: ${file} has version ${version}, and this program knows versions up to ${known}. Run that version or a newer one, or go back to the copy that the upgrade kept, store.version-${known} beside the store. Nothing was changed.`;
  return codedFailure('store_newer', message);
}

/** The disk did not accept a write. */
export function storeUnavailable(cause: unknown, what = 'the store cannot write'): Failure {
  if (cause instanceof Failure) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  // Clients read this message: it must not contain the path, which follows the system call.
  const { syscall } = cause as NodeJS.ErrnoException;
  const end = syscall === undefined ? -1 : reason.lastIndexOf(`, ${syscall}`);
  return codedFailure(
    'store_unavailable',
    `${what}: ${end === -1 ? reason : reason.slice(0, end)}`,
    { cause },
  );
}
