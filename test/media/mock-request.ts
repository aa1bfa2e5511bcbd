import type { IncomingHttpHeaders } from 'node:http';

/** One part of a multipart form as it came. */
export interface ReceivedPart {
  readonly name: string;
  /** The text of a field; null of a file. */
  readonly value: string | null;
  readonly filename: string | null;
  readonly type: string | null;
  readonly bytes: Buffer;
}

/** A request as the provider got it. */
export interface Received {
  readonly method: string;
  /** Without /v1, and without its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly json: any;
  /** Of a multipart form; none otherwise. */
  readonly parts: readonly ReceivedPart[];
  /** When the exchange is over: `whole` where the answer was written to its end, else `cut`. */
  readonly closed: Promise<'whole' | 'cut'>;
}

/** How jobs and tasks go, from the next that is made on. */
export interface Jobs {
  /** How often a job is looked at before it is done. */
  readonly looks: number;
  /** What it fails with; it is well where not given. */
  readonly error?: object;
  /** Of Oriel: instead of failing or completing. */
  readonly expires?: boolean;
  /** What a look at a job asks for, in seconds: 0 for at once. */
  readonly retryAfter?: number;
}

export interface Answer {
  readonly status?: number;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object | string | Buffer;
}
