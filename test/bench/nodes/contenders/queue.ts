import { setTimeout as sleep } from 'node:timers/promises';
import {
  COMPLETION,
  type Event,
  type Holder,
  keyFor,
  openStore,
  type Store,
  type Task,
  taskFor,
} from '../../store/contenders/records.ts';
import { inFlight } from '../../store/contenders/work.ts';

// Claims and ends tasks of several accounts (`claims`), or measures how long one node takes to see what another has
// done (`wake`). Prints milliseconds.

/** Last line of this contender, as JSON. */
export interface QueueFigures {
  /** Time of all claims and ends. */
  readonly seconds: number;
  /** Milliseconds from a creation until another node has the hint. */
  readonly created: readonly number[];
  /** Milliseconds from an end until the creator has the hint. */
  readonly ended: readonly number[];
}

const ACCOUNTS = 20;
/** Free slots of a node for which it claims at once, and such claims at once. */
const SLOTS = 16;
const CLAIMS = 4;

const [module = '', work = '', directory = '', count = '0'] = process.argv.slice(2);
const store = await openStore(module, { directory });
const holders: Holder[] = [];
for (let index = 0; index < ACCOUNTS; index += 1) {
  holders.push(await keyFor(store, `account-${index}`, String(index).padStart(64, 'a')));
}

let created = 0;
async function create(): Promise<Task> {
  created += 1;
  const { task } = await store.createTask(taskFor(holders[created % ACCOUNTS]!));
  return task;
}

async function drain(): Promise<void> {
  for (;;) {
    const tasks = await store.claimPending({ limit: SLOTS });
    if (tasks.length === 0) return;
    await Promise.all(tasks.map((task) => store.completeTask(task, COMPLETION)));
  }
}

async function claims(): Promise<QueueFigures> {
  await inFlight(64, Number(count), create);
  const started = performance.now();
  await Promise.all(Array.from({ length: CLAIMS }, drain));
  return { seconds: (performance.now() - started) / 1000, created: [], ended: [] };
}

/** The next event that fits. */
function next(at: Store, fits: (event: Event) => boolean): Promise<number> {
  return new Promise((resolve) => {
    const unwatch = at.watch((event) => {
      if (!fits(event)) return;
      unwatch();
      resolve(performance.now());
    });
  });
}

async function wake(): Promise<QueueFigures> {
  const other = await openStore(module, { directory: `${directory}-other` });
  const figures = { seconds: 0, created: [] as number[], ended: [] as number[] };
  for (let index = 0; index < Number(count); index += 1) {
    const seen = next(other, ({ kind }) => kind === 'pending');
    const createdAt = performance.now();
    const { id } = await create();
    store.publish({ kind: 'pending' });
    figures.created.push((await seen) - createdAt);
    const [task] = await other.claimPending({ limit: 1 });
    const over = next(store, (event) => event.id === id && event.status === 'completed');
    const endedAt = performance.now();
    await other.completeTask(task!, COMPLETION);
    figures.ended.push((await over) - endedAt);
    // Hints of one task are not sent with those of the next one.
    await sleep(2);
  }
  await other.close();
  return figures;
}

const figures = await (work === 'claims' ? claims() : wake());
await store.close();
process.stdout.write(`${JSON.stringify(figures)}\n`);
