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
  /** Of an input of a task: whether that still needs it, or has ended. Absent for all else. */
  readonly input?: 'needed' | 'spent';
}

/** Whether an asset takes room that its account has for uploads. */
export function countsAsStored({ taskId, input }: Pick<Asset, 'taskId' | 'input'>): boolean {
  return taskId === null || input !== undefined;
}

/** A file that is on disk, to be recorded. */
export type NewAsset = Pick<Asset, 'id' | 'mediaType' | 'bytes' | 'sha256'>;

/**
 * @param taken bytes that uploads of the account and inputs of its open tasks have
 * @param bytes of what is to be added
 * @throws Failure insufficient_quota, code `storage_full`, where that would make them more than `most`
 */
export function checkStorageQuota(taken: number, bytes: number, most: number): void {
  if (bytes === 0 || taken + bytes <= most) return;
  const stored = `uploads and inputs of open tasks take ${taken} of the ${most} bytes that the account has`;
  const message = `this request has files of ${bytes} bytes, but ${stored}`;
  throw new Failure('insufficient_quota', message, { code: 'storage_full' });
}
