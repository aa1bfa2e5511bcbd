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
  readonly createdAt: number;
}

/** A file that is on disk, to be recorded. */
export type NewAsset = Pick<Asset, 'id' | 'mediaType' | 'bytes'>;
