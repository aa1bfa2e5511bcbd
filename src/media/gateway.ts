import type { KeyHolder } from '../store/store.ts';
import type { Task } from '../store/task.ts';
import type { ModerationAnswer } from './providers/provider.ts';

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

export interface MediaGateway {
  /**
   * Records a task, and sees to it that it is done. Resolves when the record and its reservation are
   * on disk. The same idempotency key with the same request gives the same task again.
   *
   * @throws Failure
   */
  submit(call: MediaCall): Promise<Task>;
  /**
   * Waits until a task has ended, but not for longer than given, nor after `left` is aborted or while
   * the daemon drains. Gives the task as it then is.
   */
  waitFor(task: Task, milliseconds: number, left: AbortSignal): Promise<Task>;
  /**
   * Keeps an image.
   *
   * @returns the name of the asset
   * @throws Failure where it is no image that is taken, named by the param `file`
   */
  upload(holder: KeyHolder, file: SentFile): Promise<string>;
  /** @param left aborted when the client leaves */
  moderate(
    holder: KeyHolder,
    fields: Readonly<Record<string, unknown>>,
    left: AbortSignal,
  ): Promise<ModerationAnswer>;
}
