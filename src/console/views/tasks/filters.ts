import type { Task } from '../../api/tasks.ts';

/** What the list shows; an empty text for all. */
export interface TaskFilters {
  readonly status: string;
  readonly type: string;
  readonly model: string;
  /** Days of creation, UTC. */
  readonly from: string;
  readonly to: string;
}

const NAMES = ['status', 'type', 'model', 'from', 'to'] as const;

/** Tasks of one page. */
const PAGE = 25;

export function filtersOf(query: URLSearchParams): TaskFilters {
  return Object.fromEntries(
    NAMES.map((name) => [name, query.get(name) ?? '']),
  ) as unknown as TaskFilters;
}

function queryOf(filters: TaskFilters): URLSearchParams {
  return new URLSearchParams(
    NAMES.flatMap((name) => (filters[name] === '' ? [] : [[name, filters[name]]])),
  );
}

/** The place of filters within the console. */
export function placeOf(filters: TaskFilters): string {
  const query = queryOf(filters);
  return query.size === 0 ? 'tasks' : `tasks?${query}`;
}

/** Path of the list on the server. */
export function pathOf(filters: TaskFilters): string {
  const query = queryOf(filters);
  query.set('include', 'request');
  query.set('limit', String(PAGE));
  return `v1/tasks?${query}`;
}

/** Whether filters let a task through that was created just now. */
export function admits(filters: TaskFilters, { status, type, model }: Task): boolean {
  return (
    (filters.status === '' || filters.status === status) &&
    (filters.type === '' || filters.type === type) &&
    (filters.model === '' || filters.model === model) &&
    (filters.to === '' || filters.to >= new Date().toISOString().slice(0, 10))
  );
}
