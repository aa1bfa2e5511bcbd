import { isObject } from '../../schema/untrusted.ts';
import type { Task } from '../../store/task.ts';
import type { MediaOutput, OutputFile } from '../provider/provider.ts';

/** State of a task's last provider call, by which another process resumes the task after a crash. */
export interface CallCheckpoint {
  /** Name of the route. */
  readonly route: string;
  /** State of the provider, such as the identifier of a remote job; null if it has none. */
  readonly jobState: unknown;
  /**
   * Progress of a call that would be charged twice if it were repeated: `asked` before the request is sent, `answered`
   * once its output is received but not stored. Absent without such a call.
   */
  readonly billableCall?: 'asked' | 'answered';
  /** Output of an answered call, if all of it can be downloaded again. */
  readonly output?: MediaOutput;
}

/** Versions before November 2026 stored the headers of the download, with the provider's key. */
type StoredFile = OutputFile & { readonly headers?: unknown };

/** The JSON in `Task.progress`. */
type StoredCheckpoint = Readonly<ReturnType<typeof storedCheckpoint>>;

export function checkpointOf({ progress }: Pick<Task, 'progress'>): CallCheckpoint | null {
  if (!isObject(progress) || typeof progress['way'] !== 'string') return null;
  const { way, progress: jobState, call, production } = progress as unknown as StoredCheckpoint;
  return {
    route: way,
    jobState,
    ...(call !== undefined && { billableCall: call }),
    ...(production !== undefined && {
      output: { files: production.products.map(fileOf), usage: production.usage },
    }),
  };
}

function fileOf({ headers, ...file }: StoredFile): OutputFile {
  return headers === undefined || !('url' in file) ? file : { ...file, needsKey: true };
}

export function storedCheckpoint({ route, jobState, billableCall, output }: CallCheckpoint) {
  return {
    way: route,
    progress: jobState,
    ...(billableCall !== undefined && { call: billableCall }),
    ...(output !== undefined && {
      production: { products: output.files, usage: output.usage },
    }),
  };
}

/** Whether a route can resume a task, so that its work need not be paid for twice. */
export function isResumableAt(task: Pick<Task, 'progress'>, route: string): boolean {
  const checkpoint = checkpointOf(task);
  if (checkpoint?.route !== route) return false;
  return checkpoint.jobState !== null || checkpoint.output !== undefined;
}

/** Whether a provider may have charged for output that was lost. */
export function mayHaveBeenCharged(task: Pick<Task, 'progress'>): boolean {
  const checkpoint = checkpointOf(task);
  return checkpoint?.billableCall !== undefined && checkpoint.output === undefined;
}
