import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import {
  isTerminal,
  TASK_STATES,
  TASK_TYPES,
  type TaskQuery,
  type TaskState,
  type TaskType,
} from '../../../src/store/task.ts';
import { memoryFolder } from '../../oriel.ts';
import { runs } from '../../runs.ts';
import { claimOf, findInconsistencies } from '../consistency.ts';
import { BROKEN, completionOf, keyFor, taskFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

interface Known {
  readonly id: string;
  readonly owner: number;
  readonly type: TaskType;
  status: TaskState;
}

const ENDS = ['completed', 'failed', 'expired', 'pending', 'processing'] as const;

const round = fc.record({
  /** Ends of the tasks that are created, and of an earlier one. */
  ends: fc.array(fc.constantFrom(...ENDS), { minLength: 1, maxLength: 12 }),
  forgets: fc.boolean(),
  opensAgain: fc.boolean(),
  query: fc.record(
    {
      accountId: fc.nat(1),
      status: fc.constantFrom(...TASK_STATES),
      type: fc.constantFrom(...TASK_TYPES),
    },
    { requiredKeys: [] },
  ),
  limit: fc.integer({ min: 1, max: 7 }),
});

/** Random tasks and queries: the pages of a store are those of a plain list. */
export function describeListingProperties(driver: DriverFactory): void {
  it('lists tasks in the pages of a plain list', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(round, { minLength: 3, maxLength: 12 }), async (rounds) => {
        const place = memoryFolder();
        let now = Date.UTC(2026, 10, 21);
        const open = () => driver.open(place, { now: () => now });
        let store = await open();
        try {
          const keys = [];
          for (const name of ['ada', 'bob']) {
            const account = await store.createAccount({ name, plan: 'free', credits: 0 });
            keys.push(await store.createKey(keyFor(account)));
          }
          let model: Known[] = [];
          for (const { ends, forgets, opensAgain, query, limit } of rounds) {
            now += 1000;
            for (const [at, status] of ends.entries()) {
              const [owner, type] = [at % 2, TASK_TYPES[at % TASK_TYPES.length]!];
              const task = taskFor(keys[owner]!, { reservation: 0, type, callbackUrl: null });
              const { id } = (await store.createTask(task)).task;
              model.push({ id, owner, type, status: 'pending' });
              const late = model[(at * 7) % model.length]!;
              for (const one of [model.at(-1)!, late]) await advance(store, one, status);
            }
            if (forgets) {
              const [one] = model.filter(({ status }) => isTerminal(status));
              const task = one && (await store.findTask(keys[one.owner]!.accountId, one.id));
              const { tasks } = await store.deleteTasks((task?.updatedAt ?? 0) + 1);
              const gone = new Set(tasks.map(({ id }) => id));
              expect(gone.has(one?.id ?? '')).toBe(one !== undefined);
              model = model.filter(({ id }) => !gone.has(id));
            }
            if (opensAgain) {
              await store.close();
              store = await open();
              await store.claimOrphans({ limit: 999 });
            }
            const { accountId: owner, ...rest } = query;
            const wanted: TaskQuery = {
              ...rest,
              ...(owner !== undefined && { accountId: keys[owner]!.accountId }),
            };
            const expected = model.filter(
              (task) =>
                (owner === undefined || task.owner === owner) &&
                (rest.status === undefined || task.status === rest.status) &&
                (rest.type === undefined || task.type === rest.type),
            );
            expect(await pagesOf(store, wanted, limit)).toEqual(
              expected.map(({ id }) => id).reverse(),
            );
          }
          expect(await findInconsistencies(store)).toEqual([]);
        } finally {
          await store.close();
        }
      }),
      { numRuns: runs(15), endOnFailure: true },
    );
  });
}

async function advance(store: Store, task: Known, to: TaskState): Promise<void> {
  if (isTerminal(task.status) || to === 'pending') return;
  if (task.status === 'pending') await store.claimTask(task.id);
  task.status = to;
  if (to === 'completed') await store.completeTask(await claimOf(store, task.id), completionOf());
  else if (to === 'failed') await store.failTask(await claimOf(store, task.id), BROKEN);
  else if (to === 'expired') await store.expireTask(await claimOf(store, task.id));
}

async function pagesOf(store: Store, query: TaskQuery, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const after = ids.at(-1);
    const page = await store.listTasks(query, { limit, ...(after !== undefined && { after }) });
    expect(page.length).toBeLessThanOrEqual(limit);
    ids.push(...page.map(({ id }) => id));
    if (page.length < limit) return ids;
  }
}
