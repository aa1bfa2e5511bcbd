import { codedFailure } from '../failure.ts';

/** Stored file: an upload, an input of a task or a result of a task. Times are milliseconds since the epoch. */
export interface Asset {
  /** Name of the file, which is also its secret: 256 random bits and an extension, `3kT…9w.png`. */
  readonly id: string;
  readonly accountId: string;
  /** Task that the file is an input or a result of; null for an upload. */
  readonly taskId: string | null;
  /** Media type: `image/png`. */
  readonly mediaType: string;
  /** Size of the file in bytes. */
  readonly bytes: number;
  /** SHA-256 of the content, hexadecimal; null in records of versions that stored none. */
  readonly sha256: string | null;
  readonly createdAt: number;
  /** Of an input: `needed` while its task is open, `spent` after its end. Absent for uploads and results. */
  readonly input?: 'needed' | 'spent';
}

/** Whether an asset counts towards the storage quota of its account. */
export function countsAsStored({ taskId, input }: Pick<Asset, 'taskId' | 'input'>): boolean {
  return taskId === null || input !== undefined;
}

/** File that is on disk and not yet recorded. */
export type NewAsset = Pick<Asset, 'id' | 'mediaType' | 'bytes' | 'sha256'>;

/**
 * @param taken bytes of the account's uploads and of inputs of its open tasks
 * @param bytes bytes of the files to be added
 * @throws Failure insufficient_quota, code `storage_full`, if the sum is above `quota`
 */
export function checkStorageQuota(taken: number, bytes: number, quota: number): void {
  if (bytes === 0 || taken + bytes <= quota) return;
  const stored = `uploads and inputs of open tasks take ${taken} of the ${quota} bytes that the account has`;
  const message = `this request has files of ${bytes} bytes, but ${stored}`;
  throw codedFailure('storage_full', message);
}
