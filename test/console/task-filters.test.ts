import { expect, it } from 'vitest';
import type { Task } from '../../src/console/api/tasks.ts';
import { changedList, filtersOf, pathOf, placeOf } from '../../src/console/views/tasks/filters.ts';

const task = (task_id: string, fields: Partial<Task> = {}): Task => ({
  task_id,
  status: 'pending',
  model: 'm',
  type: 'image',
  result: null,
  error: null,
  ...fields,
});
const filters = (query = '') => filtersOf(new URLSearchParams(query));
const changes = (...tasks: Task[]) => new Map(tasks.map((one) => [one.task_id, one]));

it('filters have an address and a path on the server', () => {
  expect(placeOf(filters())).toBe('tasks');
  expect(placeOf(filters('type=video&unknown=1&model=a%26b'))).toBe('tasks?type=video&model=a%26b');
  expect(pathOf(filters('status=failed'))).toBe('v1/tasks?status=failed&limit=25');
  expect(pathOf(filters(), 'task_1')).toBe('v1/tasks?limit=25&after=task_1');
});

it('a list has changed tasks in their places, and new ones that the filters let through first', () => {
  const done = task('b', { status: 'completed' });
  const list = changedList(
    [task('b'), task('a')],
    changes(task('c'), done, task('d')),
    filters('status=pending'),
  );
  expect(list).toEqual([task('d'), task('c'), done, task('a')]);
});

it.each([
  ['type=video', 0],
  ['type=image', 1],
  ['model=other', 0],
  ['to=2000-01-01', 0],
  ['from=2000-01-01', 1],
])('with %j a new image of the model m adds %i', (query, added) => {
  expect(changedList([], changes(task('a')), filters(query))).toHaveLength(added);
});
