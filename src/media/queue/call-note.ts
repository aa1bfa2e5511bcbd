import { isObject } from '../../schema/untrusted.ts';
import type { Task } from '../../store/task.ts';
import type { Production } from '../providers/provider.ts';

/** What a task's record tells of the last call of a provider, for a process that goes on after a crash. JSON. */
export interface CallNote {
  /** Name of the route. */
  readonly way: string;
  /** The provider's own progress, such as the job that it was given; null where there is none. */
  readonly progress: unknown;
  /**
   * How far a call got that would be charged a second time if it were repeated: `asked` before it is
   * sent, `answered` once its results are there but not kept. Absent where there is no such call.
   */
  readonly call?: 'asked' | 'answered';
  /** Results that can be fetched again, of a call that was answered. */
  readonly production?: Production;
}

export function noteOf({ progress }: Pick<Task, 'progress'>): CallNote | null {
  return isObject(progress) && typeof progress['way'] === 'string'
    ? (progress as unknown as CallNote)
    : null;
}

/** Whether a route has something of a task's that going on there saves from being made twice. */
export function isBegun(task: Pick<Task, 'progress'>, way: string): boolean {
  const note = noteOf(task);
  return note?.way === way && (note.progress !== null || note.production !== undefined);
}

/** Whether a task's provider may have charged for something that nobody has. */
export function isInDoubt(task: Pick<Task, 'progress'>): boolean {
  const note = noteOf(task);
  return note?.call !== undefined && note.production === undefined;
}
