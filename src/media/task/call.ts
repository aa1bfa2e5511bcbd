import type { KeyHolder } from '../../store/store.ts';

/** The endpoints that create tasks, each with its own fields. */
export type MediaKind = 'image' | 'edit' | 'variation' | 'video' | 'audio' | 'speech';

/** A file that a client sent, on disk. The caller deletes it afterwards. */
export interface SentFile {
  readonly path: string;
  readonly size: number;
}

/** An image that a request names by a URL. */
export interface SentReference {
  readonly url: string;
  /** Path of the request's field. */
  readonly param: string;
}

/** One request that creates a task. */
export interface MediaCall {
  readonly kind: MediaKind;
  readonly holder: KeyHolder;
  /** Fields of the body; a form's fields converted to the types of JSON. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Images to edit. */
  readonly images?: readonly (SentFile | SentReference)[];
  /** Mask of an edit. */
  readonly mask?: SentFile | SentReference | null | undefined;
  readonly idempotencyKey: string | null;
  /** The client's span; absent without one, and where no traces are sent. */
  readonly traceparent?: string;
  /** Tags by which usage is counted, as one text; absent or empty without any. */
  readonly tags?: string;
  /** Base URL of this server's assets: `https://oriel.example.com`. */
  readonly publicUrl: string;
}
