import { Failure } from '../failure.ts';

/** A file that is kept: an upload, an input of a task, or what a task gave. Times are milliseconds since 1970. */
export interface Asset {
  /** Its name and its secret: 256 random bits and an extension, `3kT…9w.png`. */
  readonly id: string;
  readonly accountId: string;
  /** The task that it is an input or a result of; null for an upload. */
  readonly taskId: string | null;
  /** `image/png`. */
  readonly mediaType: string;
  /** Of the file. */
  readonly bytes: number;
  /** Of the file's content, in hex; null in records from before it was kept. */
  readonly sha256: string | null;
  readonly createdAt: number;
}

/** A file that is on disk, to be recorded. */
export type NewAsset = Pick<Asset, 'id' | 'mediaType' | 'bytes' | 'sha256'>;

/**
 * @param taken bytes that the account's uploads have
 * @throws Failure insufficient_quota, code `storage_full`, where another would make them more than `most`
 */
export function checkRoom(taken: number, { bytes }: NewAsset, most: number): void {
  if (taken + bytes <= most) return;
  const message = `this upload has ${bytes} bytes; those of the account have ${taken} of at most ${most} already`;
  throw new Failure('insufficient_quota', message, { code: 'storage_full' });
}
