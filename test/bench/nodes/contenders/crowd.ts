import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import {
  COMPLETION,
  type Holder,
  keyFor,
  type Store,
  type Task,
  taskFor,
} from '../../store/contenders/records.ts';
import { cpuOf } from '../postgres.ts';

// Many nodes over one database: each is a store of its own, with the claimer of tasks that a daemon has, in a few
// processes. Prints what they did and the statements of the server meanwhile.

/** Last line of this contender, as JSON. */
export interface CrowdFigures {
  readonly seconds: number;
  /** CPU seconds of the server. */
  readonly cpu: number;
  readonly requests: number;
  readonly tasks: number;
  /** Events that nodes have received from others. */
  readonly hints: number;
  /** Milliseconds from the creation of a task until a node has claimed it. */
  readonly waits: readonly number[];
  readonly statements: readonly {
    readonly query: string;
    readonly calls: number;
    readonly ms: number;
    readonly rows: number;
  }[];
}

/** What a process of nodes is told, and answers. */
interface Plan {
  readonly driver: string;
  readonly claimer: string;
  readonly directory: string;
  readonly nodes: number;
  /** Text requests a second of each node, and tasks. */
  readonly text: number;
  readonly tasks: number;
  /** Tasks a second that the first node gets, more than it has slots for. */
  readonly spilled: number;
  readonly accounts: readonly Holder[];
  readonly seconds: number;
}
type Done = Pick<CrowdFigures, 'requests' | 'tasks' | 'hints' | 'waits'>;

interface NodeStore extends Store {
  reserve(accountId: string, keyId: string, amount: number): Promise<unknown>;
  settle(reservation: unknown, metered: object): Promise<number>;
}
interface Claimer {
  start(): Promise<void>;
  slotFreed(): void;
  close(): void;
  closed(): Promise<void>;
}
type ClaimerClass = new (options: object) => Claimer;
type Open = (options: object) => Promise<NodeStore>;

/** Tasks that a node works on at once. */
const SLOTS = 8;
const MODEL = 'some-image-model';
const COST = 1000;

/** One node: sends its text requests and tasks, and works on what it claims. */
class Node {
  requests = 0;
  tasks = 0;
  hints = 0;
  waits: number[] = [];
  #free = SLOTS;
  #isOver = false;
  readonly #store: NodeStore;
  readonly #claimer: Claimer;
  readonly #unwatch: () => void;

  constructor(store: NodeStore, Claimer: ClaimerClass) {
    this.#store = store;
    this.#unwatch = store.watch(() => {
      this.hints += 1;
    });
    this.#claimer = new Claimer({
      store,
      room: () =>
        this.#free > 0
          ? { limit: this.#free, exceptModels: [] }
          : { limit: SLOTS, exceptModels: [MODEL] },
      waiting: () => 0,
      claimed: (task: Task & { createdAt: number }) => void this.#work(task),
      expired: () => {},
      leaseLost: () => {},
    });
  }

  async run({ text, tasks, spilled, accounts, seconds }: Plan, index: number): Promise<void> {
    await this.#claimer.start();
    const until = performance.now() + seconds * 1000;
    const holder = () => accounts[(index + this.requests + this.tasks) % accounts.length]!;
    const every = async (rate: number, work: (holder: Holder) => Promise<void>) => {
      if (rate === 0) return;
      const pause = 1000 / rate;
      let next = performance.now() + Math.random() * pause;
      while (next < until) {
        await sleep(Math.max(0, next - performance.now()));
        next += pause;
        void work(holder());
      }
    };
    await Promise.all([
      every(text, (payer) => this.#request(payer)),
      every(index === 0 ? tasks + spilled : tasks, (payer) => this.#create(payer)),
      sleep(until - performance.now()),
    ]);
    this.#isOver = true;
  }

  /** Forgets what the warm-up did. */
  forget(): void {
    this.requests = 0;
    this.tasks = 0;
    this.hints = 0;
    this.waits = [];
  }

  async #request({ accountId, keyId }: Holder): Promise<void> {
    const reservation = await this.#store.reserve(accountId, keyId, COST);
    this.requests += 1;
    const counts = {
      requests: 1,
      inputTokens: 10,
      cachedInputTokens: 0,
      outputTokens: 10,
      outputs: 0,
    };
    await this.#store.settle(reservation, { model: 'chat', counts, charge: COST });
  }

  /** As a gateway does: it claims its own task where it has a slot, and tells the others where it has none. */
  async #create(payer: Holder): Promise<void> {
    const { task } = await this.#store.createTask(taskFor(payer));
    this.tasks += 1;
    if (this.#free === 0) {
      this.#store.publish({ kind: 'pending' });
      return;
    }
    const claimed = (await this.#store.claimTask(task.id)) as
      | (Task & { createdAt: number })
      | undefined;
    if (claimed) await this.#work(claimed);
  }

  async #work(task: Task & { createdAt: number }): Promise<void> {
    this.#free -= 1;
    this.waits.push(Date.now() - task.createdAt);
    // A provider's time.
    await sleep(500);
    await this.#store.completeTask(task, COMPLETION);
    this.#free += 1;
    this.#claimer.slotFreed();
  }

  async close(): Promise<void> {
    this.#unwatch();
    this.#claimer.close();
    await this.#claimer.closed();
    await sleep(this.#isOver ? 700 : 0);
    await this.#store.close();
  }
}

async function nodesOf(plan: Plan): Promise<void> {
  const { openStore } = (await import(plan.driver)) as { openStore: Open };
  const { TaskClaimer } = (await import(plan.claimer)) as { TaskClaimer: ClaimerClass };
  const nodes: Node[] = [];
  for (let index = 0; index < plan.nodes; index += 1) {
    const directory = `${plan.directory}-${index}`;
    nodes.push(new Node(await openStore({ directory, poolSize: 2 }), TaskClaimer));
  }
  process.send!('ready');
  await new Promise((resolve) => process.once('message', resolve));
  process.once('message', () => {
    for (const node of nodes) node.forget();
  });
  await Promise.all(nodes.map((node, index) => node.run(plan, index)));
  const sum = (figure: 'requests' | 'tasks' | 'hints') =>
    nodes.reduce((all, node) => all + node[figure], 0);
  const done: Done = {
    requests: sum('requests'),
    tasks: sum('tasks'),
    hints: sum('hints'),
    waits: nodes.flatMap(({ waits }) => waits),
  };
  process.send!(done);
  await new Promise((resolve) => process.once('message', resolve));
  await Promise.all(nodes.map((node) => node.close()));
  process.disconnect();
}

function answer<Value>(child: ChildProcess): Promise<Value> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Value));
    child.once('exit', (code) => reject(new Error(`a process of nodes ended with ${code}`)));
  });
}

async function crowd(args: readonly string[]): Promise<void> {
  const [driver = '', claimer = '', url = '', server = '', directory = '', load = '', ...numbers] =
    args;
  const [nodes = 1, rate = 0, warmUp = 5, seconds = 5, processes = 1] = numbers.map(Number);
  const { openStore } = (await import(driver)) as { openStore: Open };
  const store = await openStore({ directory });
  const accounts: Holder[] = [];
  for (let index = 0; index < 20; index += 1) {
    accounts.push(await keyFor(store, `account-${index}`, String(index).padStart(64, 'a')));
  }
  await store.close();
  const children = Array.from({ length: processes }, (_, index) => {
    const share = Math.floor(nodes / processes) + (index < nodes % processes ? 1 : 0);
    const plan: Plan = {
      ...{ driver, claimer, accounts, seconds: warmUp + seconds, nodes: share },
      text: load === 'text' ? rate : 0,
      tasks: load === 'tasks' ? rate : 0,
      spilled: load === 'spill' && index === 0 ? rate : 0,
      directory: `${directory}-${index}`,
    };
    return fork(fileURLToPath(import.meta.url), [JSON.stringify(plan)]);
  });
  await Promise.all(children.map((child) => answer(child)));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const answers = children.map((child) => answer<Done>(child));
  for (const child of children) child.send('go');
  await sleep(warmUp * 1000);
  for (const child of children) child.send('count');
  await client.query('SELECT pg_stat_statements_reset()');
  const before = cpuOf(server);
  const started = performance.now();
  const done = await Promise.all(answers);
  const took = (performance.now() - started) / 1000;
  const cpu = cpuOf(server) - before;
  const { rows } = await client.query<CrowdFigures['statements'][number]>(
    `SELECT query, calls::float8 AS calls, total_exec_time AS ms, rows::float8 AS rows FROM pg_stat_statements
     WHERE query NOT LIKE '%pg_stat_statements%' ORDER BY ms DESC`,
  );
  await client.end();
  for (const child of children) child.send('end');
  await Promise.all(children.map((child) => new Promise((resolve) => child.once('exit', resolve))));
  const sum = (figure: 'requests' | 'tasks' | 'hints') =>
    done.reduce((all, each) => all + each[figure], 0);
  const figures: CrowdFigures = {
    seconds: took,
    cpu,
    requests: sum('requests'),
    tasks: sum('tasks'),
    hints: sum('hints'),
    waits: done.flatMap(({ waits }) => waits),
    statements: rows,
  };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

const [first = '', ...rest] = process.argv.slice(2);
await (first.startsWith('{') ? nodesOf(JSON.parse(first) as Plan) : crowd([first, ...rest]));
