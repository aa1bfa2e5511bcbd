import type { KeyHolder } from '../../store/store.ts';

/** The four ways to ask for a task, each with the fields of its endpoint. */
export type MediaKind = 'image' | 'edit' | 'video' | 'audio';

/** A file that a client sent, on disk; whoever hands it over deletes it afterwards. */
export interface SentFile {
  readonly path: string;
  readonly size: number;
}

/** One request for a task. */
export interface MediaCall {
  readonly kind: MediaKind;
  readonly holder: KeyHolder;
  /** The body's fields; of a form, in the types that JSON would have. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** Of an edit: what is to be edited, and where. */
  readonly images?: readonly SentFile[];
  readonly mask?: SentFile | null;
  readonly idempotencyKey: string | null;
  /** What addresses of assets begin with: `https://oriel.example.com`. */
  readonly publicUrl: string;
}
