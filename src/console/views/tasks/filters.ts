import { TASK_STATES, TASK_TYPES, type Task } from '../../api/tasks.ts';
import { type FormField, queryOf, type Values } from '../../components/form-field.ts';

/** What the list shows; an empty text for all. Days of creation are UTC. */
export const FILTERS: readonly FormField[] = [
  { name: 'status', label: 'State', choices: [['', 'All'], ...TASK_STATES] },
  { name: 'type', label: 'Type', choices: [['', 'All'], ...TASK_TYPES] },
  { name: 'model', label: 'Model', kind: 'late', placeholder: 'All' },
  { name: 'from', label: 'From', input: { type: 'date' } },
  { name: 'to', label: 'To', input: { type: 'date' } },
];

/** Tasks of one page. */
const PAGE = 25;

/** Path of the list on the server. */
export function pathOf(filters: Values): string {
  const query = queryOf(filters);
  query.set('include', 'request');
  query.set('limit', String(PAGE));
  return `v1/tasks?${query}`;
}

/** Whether filters let a task through that was created just now. */
export function admits(filters: Values, task: Task): boolean {
  const isSame = (name: 'status' | 'type' | 'model') =>
    !filters[name] || filters[name] === task[name];
  const { to } = filters;
  return (
    isSame('status') &&
    isSame('type') &&
    isSame('model') &&
    (!to || to >= new Date().toISOString().slice(0, 10))
  );
}
