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

/** Path of a page on the server. @param after the last task of the page before */
export function pathOf(filters: TaskFilters, after?: string): string {
  const query = queryOf(filters);
  query.set('limit', String(PAGE));
  if (after !== undefined) query.set('after', after);
  return `v1/tasks?${query}`;
}

/**
 * A list with what changed since it was loaded. New tasks stand first; a task that the filters no longer let
 * through stays, so that nothing vanishes while it is read.
 *
 * @param changed tasks by identifier, in the order of their first change
 */
export function changedList(
  listed: readonly Task[],
  changed: ReadonlyMap<string, Task>,
  filters: TaskFilters,
): readonly Task[] {
  const known = new Set(listed.map(({ task_id }) => task_id));
  const isNew = ({ task_id, status, type, model }: Task) =>
    !known.has(task_id) &&
    (filters.status === '' || filters.status === status) &&
    (filters.type === '' || filters.type === type) &&
    (filters.model === '' || filters.model === model) &&
    // A new task was created today.
    (filters.to === '' || filters.to >= new Date().toISOString().slice(0, 10));
  return [
    ...[...changed.values()].filter(isNew).reverse(),
    ...listed.map((task) => changed.get(task.task_id) ?? task),
  ];
}
