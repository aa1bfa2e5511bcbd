import type { Task } from '../api/task.ts';

const TONES: Readonly<Record<Task['status'], string>> = {
  pending: '',
  processing: '',
  completed: 'good',
  failed: 'bad',
  expired: 'warn',
};

/** The state of a task as a word. */
export function TaskState({ status }: Pick<Task, 'status'>) {
  return <span class={`badge ${TONES[status]}`}>{status}</span>;
}
