import { expect, it } from 'vitest';
import type { Task } from '../../src/console/api/tasks.ts';
import { filtersOf, placeOf } from '../../src/console/components/form-field.ts';
import { admits, FILTERS, pathOf } from '../../src/console/views/tasks/filters.ts';

const TASK: Task = {
  ...{ task_id: 'a', status: 'pending', model: 'm', type: 'image', result: null, error: null },
};
const filters = (query = '') => filtersOf(FILTERS, new URLSearchParams(query));

it('filters have an address and a path on the server', () => {
  expect(placeOf('tasks', filters())).toBe('tasks');
  expect(placeOf('tasks', filters('type=video&unknown=1&model=a%26b'))).toBe(
    'tasks?type=video&model=a%26b',
  );
  expect(pathOf(filters('status=failed'))).toBe('v1/tasks?status=failed&include=request&limit=25');
  expect(pathOf(filters())).toBe('v1/tasks?include=request&limit=25');
});

it.each([
  ['type=video', false],
  ['type=image', true],
  ['status=failed', false],
  ['status=pending', true],
  ['model=other', false],
  ['to=2000-01-01', false],
  ['from=2000-01-01', true],
])('%j lets through a new image of the model m: %j', (query, isAdmitted) => {
  expect(admits(filters(query), TASK)).toBe(isAdmitted);
});
