import { setTimeout as sleep } from 'node:timers/promises';
import { inFlight } from '../../store/contenders/work.ts';

// Claims and ends tasks of several accounts (`claims`), or measures how long one node takes to see what another has
// done (`wake`). Prints milliseconds.

interface Task {
  readonly id: string;
  readonly attempts: number;
}

interface Event {
  readonly kind: string;
  readonly id?: string;
  readonly status?: string;
}

/** The part of the store that is used, so that the benchmark needs no types from outside its folder. */
interface Store {
  createAccount(account: object): Promise<{ id: string }>;
  createKey(key: object): Promise<{ id: string }>;
  createTask(task: object): Promise<{ task: Task }>;
  claimPending(query: { limit: number }): Promise<readonly Task[]>;
  completeTask(claim: Task, completion: object): Promise<unknown>;
  publish(event: Event): void;
  watch(listener: (event: Event) => void): () => void;
  close(): Promise<void>;
}

/** Last line of this contender, as JSON. */
export interface QueueFigures {
  /** Time of all claims and ends. */
  readonly seconds: number;
  /** Milliseconds from a creation until another node has the hint. */
  readonly created: readonly number[];
  /** Milliseconds from an end until the creator has the hint. */
  readonly ended: readonly number[];
}

const CREDIT = 1_000_000;
const ACCOUNTS = 20;
/** Free slots of a node for which it claims at once, and such claims at once. */
const SLOTS = 16;
const CLAIMS = 4;

const [module = '', work = '', directory = '', count = '0'] = process.argv.slice(2);
const { openStore } = (await import(module)) as {
  openStore(options: { directory: string }): Promise<Store>;
};

const store = await openStore({ directory });
const holders: { accountId: string; keyId: string }[] = [];
for (let index = 0; index < ACCOUNTS; index += 1) {
  const account = { name: `account-${index}`, plan: 'paid', credits: 1_000_000 * CREDIT };
  const { id: accountId } = await store.createAccount(account);
  const { id: keyId } = await store.createKey({
    ...{ accountId, name: 'bench', hash: String(index).padStart(64, 'a') },
    ...{ hint: 'sk-oriel-aaaa…aaaa', expiresAt: null, models: null, rpm: null, budget: null },
  });
  holders.push({ accountId, keyId });
}

let created = 0;
async function create(): Promise<Task> {
  created += 1;
  const { task } = await store.createTask({
    ...holders[created % ACCOUNTS],
    type: 'image',
    model: 'some-image-model',
    request: { prompt: 'a harbour at dawn, thin fog over the water', size: '1024x1024', n: 1 },
    deadline: 4_000_000_000_000,
    callbackUrl: null,
    idempotency: null,
    reservation: 4 * CREDIT,
    maxOpenTasks: Number.MAX_SAFE_INTEGER,
    storageQuota: Infinity,
    assets: [],
  });
  return task;
}

const asset = `${'x'.repeat(43)}.png`;
const result = { created: 1_700_000_000, outputs: [{ asset, revisedPrompt: null }], usage: null };
const completion = { result, charge: 4 * CREDIT, counts: { outputs: 1 }, assets: [] };

async function drain(): Promise<void> {
  for (;;) {
    const tasks = await store.claimPending({ limit: SLOTS });
    if (tasks.length === 0) return;
    await Promise.all(tasks.map((task) => store.completeTask(task, completion)));
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
  const other = await openStore({ directory: `${directory}-other` });
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
    await other.completeTask(task!, completion);
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
