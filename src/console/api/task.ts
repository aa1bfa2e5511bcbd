export const TASK_STATES = ['pending', 'processing', 'completed', 'failed', 'expired'] as const;

export const TASK_TYPES = ['image', 'video', 'audio'] as const;

/** A task as `v1/tasks/{task_id}` returns it. */
export interface Task {
  readonly task_id: string;
  readonly status: (typeof TASK_STATES)[number];
  readonly model: string;
  readonly type: (typeof TASK_TYPES)[number];
  readonly result: {
    readonly data?: readonly { readonly url?: string; readonly revised_prompt?: string }[];
    readonly urls?: readonly string[];
  } | null;
  readonly error: {
    readonly type: string;
    readonly message: string;
    readonly code: string | null;
  } | null;
  /** What was asked for, in lists that include it. */
  readonly request?: Readonly<Record<string, unknown>>;
}

export interface TaskList {
  readonly data: readonly Task[];
  readonly has_more: boolean;
}

export function hasEnded({ status }: Task): boolean {
  return status !== 'pending' && status !== 'processing';
}
