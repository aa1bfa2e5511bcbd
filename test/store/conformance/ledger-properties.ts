import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Account, ApiKey } from '../../../src/store/account.ts';
import type { Reservation } from '../../../src/store/budgets.ts';
import type { Delivery, DeliveryAttempt } from '../../../src/store/delivery.ts';
import type { Store } from '../../../src/store/store.ts';
import { isTerminal, type Task } from '../../../src/store/task.ts';
import { memoryFolder } from '../../oriel.ts';
import { runs } from '../../runs.ts';
import { claimOf, everyTask, findInconsistencies, pendingDeliveries } from '../consistency.ts';
import { crashed } from '../fresh-store.ts';
import { keyFor, newAsset, taskFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

/** How often each method is called, relative to the others. */
const WEIGHTS = {
  ...{ grant: 1, create: 2, claim: 3, 'claim waiting': 1, 'claim orphans': 1, complete: 2 },
  ...{ note: 1, upload: 1, deliver: 2, 'forget uploads': 1, 'forget inputs': 1, fail: 1 },
  ...{ expire: 1, reopen: 1, hold: 2, settle: 2, release: 1, fold: 1, delete: 1 },
};
type Method = keyof typeof WEIGHTS;
const METHODS = Object.entries(WEIGHTS).flatMap(([method, weight]) =>
  Array<Method>(weight).fill(method as Method),
);

/** One method call. The numbers choose its object and amount. */
interface Call {
  readonly method: Method;
  readonly which: number;
  readonly amount: number;
}

/** Concurrent calls, and what happens after them or between them. */
interface Step {
  readonly calls: readonly Call[];
  readonly after: 'go on' | 'reopen' | 'crash' | 'crash at once';
}

const step: fc.Arbitrary<Step> = fc.record({
  calls: fc.array(
    fc.record({
      method: fc.constantFrom(...METHODS),
      which: fc.nat(9),
      amount: fc.nat(60),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  after: fc.constantFrom('go on', 'go on', 'go on', 'go on', 'reopen', 'crash', 'crash at once'),
});

/** Codes of allowed rejections; any other rejection is a defect. */
const ALLOWED_REJECTIONS = [
  'insufficient_credits',
  'key_budget_exceeded',
  'key_window_exceeded',
  'team_budget_exceeded',
  'team_window_exceeded',
  'task_state',
  'claim_lost',
  'task_not_found',
  'storage_full',
  'delivery_state',
  'delivery_not_found',
];

/** Storage quota of each account in bytes. */
const STORAGE_QUOTA = 100;

/** A store under random use, with what was acknowledged. */
class RandomUse {
  readonly #driver: DriverFactory;
  readonly #abandoned: Store[] = [];
  #folder = memoryFolder();
  #store!: Store;
  #now = Date.UTC(2026, 10, 21);
  #keys: ApiKey[] = [];
  #tasks: string[] = [];
  #holds: Reservation[] = [];
  /** Credits of acknowledged grants, and of requested ones. */
  #granted = 0;
  #asked = 0;
  /** Acknowledged charges of requests. */
  #settled = 0;
  /** Tasks whose end was acknowledged: they never change. */
  readonly #ended = new Map<string, Task>();
  /** Acknowledged assets except inputs, with their task; null for uploads. */
  readonly #assets = new Map<string, string | null>();
  /** Acknowledged inputs, which exist at least while their task is open. */
  readonly #inputs = new Map<string, string>();
  /** Deliveries whose end was acknowledged: they never change. */
  readonly #delivered = new Map<string, Delivery>();
  /** Deleted tasks that had a delivery, which must have ended. */
  readonly #deletedWithDelivery = new Set<string>();
  #deleting = false;
  readonly #deleted = new Set<string>();

  constructor(driver: DriverFactory) {
    this.#driver = driver;
  }

  async begin(): Promise<void> {
    await this.#open();
    const accounts: Account[] = [];
    for (const name of ['ada', 'bob']) {
      accounts.push(await this.#store.createAccount({ name, plan: 'paid', credits: 100 }));
    }
    const [ada, bob] = accounts as [Account, Account];
    for (const [account, budget] of [
      [ada, null],
      [ada, 90],
      [bob, null],
    ] as const) {
      this.#keys.push(await this.#store.createKey(keyFor(account, { budget })));
    }
    const windows = { timeZone: 'Europe/Berlin', day: 30, week: 50 };
    const team = { accountId: ada.id, name: 'crew', budget: 70, windows };
    const { id: teamId } = await this.#store.createTeam(team);
    for (const change of [{ teamId }, { teamId, windows: { timeZone: 'Asia/Tokyo', day: 25 } }]) {
      this.#keys.push(await this.#store.createKey(keyFor(ada, change)));
    }
    this.#granted = this.#asked = 200;
  }

  async take({ calls, after }: Step): Promise<void> {
    const results = Promise.allSettled(calls.map((call) => this.#call(call)));
    if (after === 'crash at once') {
      // Some changes may be on disk by now and some acknowledged.
      for (let turn = calls[0]!.amount % 8; turn > 0; turn -= 1) await setImmediate();
      await this.#crash();
      await results;
    } else {
      const refused = (await results).flatMap((result) =>
        result.status === 'rejected' ? [result.reason] : [],
      );
      for (const reason of refused)
        expect(ALLOWED_REJECTIONS).toContain((reason as { code: string }).code);
      if (after === 'crash') await this.#crash();
      if (after === 'reopen') {
        await this.#store.close();
        this.#holds = [];
        await this.#open();
      }
    }
    await this.#check();
  }

  async end(): Promise<void> {
    for (const store of [this.#store, ...this.#abandoned]) await store.close();
  }

  async #open(): Promise<void> {
    this.#store = await this.#driver.open(this.#folder, { now: () => this.#now });
  }

  async #crash(): Promise<void> {
    const before = this.#store;
    this.#folder = await crashed(this.#driver, before, this.#folder);
    this.#abandoned.push(before);
    // Acknowledgements of the old store do not count from now on.
    this.#store = undefined as never;
    this.#holds = [];
    await this.#open();
    // Changes that were requested but not acknowledged may be there nevertheless.
    const tasks = await everyTask(this.#store);
    this.#tasks = tasks.map(({ id }) => id);
    for (const { id, accountId } of tasks) {
      const [delivery] = (await this.#store.listDeliveries(accountId, id))!;
      if (delivery && delivery.status !== 'pending') this.#delivered.set(id, delivery);
    }
    if (this.#deleting) {
      for (const id of this.#ended.keys()) {
        if (!this.#tasks.includes(id)) this.#ended.delete(id);
      }
      for (const [id, taskId] of this.#assets) {
        const isKept =
          taskId === null ? await this.#store.findAsset(id) : this.#tasks.includes(taskId);
        if (!isKept) this.#assets.delete(id);
      }
    }
    this.#deleting = false;
    const { granted } = (await this.#store.statistics()).credits;
    expect(granted).toBeGreaterThanOrEqual(this.#granted);
    expect(granted).toBeLessThanOrEqual(this.#asked);
    this.#granted = this.#asked = granted;
    expect((await this.#store.statistics()).credits.spent).toBeGreaterThanOrEqual(this.#settled);
  }

  async #check(): Promise<void> {
    expect(await findInconsistencies(this.#store, this.#holds)).toEqual([]);
    expect((await this.#store.statistics()).credits.granted).toBe(this.#granted);
    const tasks = new Map((await everyTask(this.#store)).map((task) => [task.id, task]));
    for (const id of this.#deleted) expect(tasks.has(id)).toBe(false);
    for (const [id, ended] of this.#ended) {
      if (!this.#deleted.has(id)) expect(tasks.get(id)).toEqual(ended);
    }
    for (const task of tasks.values()) {
      if (isTerminal(task.status)) expect(task.progress).toBeNull();
    }
    for (const [id, taskId] of this.#assets) {
      const asset = await this.#store.findAsset(id);
      if (taskId !== null && !tasks.has(taskId)) expect(asset).toBeUndefined();
      else expect(asset).toMatchObject({ id, taskId });
    }
    for (const [id, taskId] of this.#inputs) {
      const task = tasks.get(taskId);
      const asset = await this.#store.findAsset(id);
      const isNeeded = task && !isTerminal(task.status);
      if (isNeeded) expect(asset).toMatchObject({ id, taskId, input: 'needed' });
      else expect(asset?.input ?? 'spent').toBe('spent');
    }
    for (const id of this.#deletedWithDelivery) expect(this.#delivered.has(id)).toBe(true);
    for (const [taskId, delivery] of this.#delivered) {
      const listed = await this.#store.listDeliveries(delivery.accountId, taskId);
      expect(listed).toEqual(tasks.has(taskId) ? [delivery] : undefined);
    }
  }

  async #call({ method, which, amount }: Call): Promise<void> {
    const store = this.#store;
    const key = this.#keys[which % this.#keys.length]!;
    const id = this.#tasks[which % (this.#tasks.length || 1)] ?? 'task_none';
    // Mostly forward, and sometimes back.
    this.#now += (amount - 10) * 600_000;
    /** Whether the store has not crashed meanwhile: what it acknowledged later does not count. */
    const isCurrent = () => store === this.#store;
    const methods: Record<Method, () => Promise<void>> = {
      grant: async () => {
        this.#asked += amount;
        await store.grant(key.accountId, amount);
        if (isCurrent()) this.#granted += amount;
      },
      create: async () => {
        const assets = amount % 3 === 0 ? [newAsset(), newAsset()] : [];
        const callbackUrl = amount % 2 === 0 ? 'https://example.com/callback' : null;
        const order = taskFor(key, { reservation: amount, assets, callbackUrl });
        const { task } = await store.createTask(order);
        if (!isCurrent()) return;
        this.#tasks.push(task.id);
        for (const asset of assets) this.#inputs.set(asset.id, task.id);
      },
      claim: async () => void (await store.claimTask(id)),
      'claim waiting': async () => {
        const claimed = await store.claimPending({ limit: 1 + (amount % 3) });
        for (const { status } of claimed) expect(status).toBe('processing');
      },
      'claim orphans': async () => void (await store.claimOrphans({ limit: 3 })),
      complete: async () => {
        const assets = amount % 2 === 0 ? [newAsset()] : [];
        const counts = { outputs: 1 };
        const completion = { result: { which }, charge: amount >> 1, counts, assets };
        this.#recordEnd(store, await store.completeTask(await claimOf(store, id), completion));
        if (isCurrent()) for (const asset of assets) this.#assets.set(asset.id, id);
      },
      note: async () => {
        const progress = { job: amount };
        const noted = await store.saveProgress(await claimOf(store, id), progress);
        expect(noted).toMatchObject({ progress });
      },
      upload: async () => {
        const asset = newAsset({ bytes: amount });
        await store.addUpload(key.accountId, asset, STORAGE_QUOTA);
        if (isCurrent()) this.#assets.set(asset.id, null);
      },
      'forget uploads': async () => {
        this.#deleting = true;
        const forgotten = await store.deleteUploads(this.#now - amount * 600_000);
        if (!isCurrent()) return;
        for (const asset of forgotten) {
          expect(asset.taskId).toBeNull();
          expect(await store.findAsset(asset.id)).toBeUndefined();
          this.#assets.delete(asset.id);
        }
      },
      'forget inputs': async () => {
        for (const { input, id: gone } of await store.deleteInputs()) {
          expect(input).toBe('spent');
          expect(await store.findAsset(gone)).toBeUndefined();
        }
      },
      deliver: async () => {
        const open = await pendingDeliveries(store);
        const unknown = {
          id: 'msg_none',
          attempts: [] as DeliveryAttempt[],
        } as unknown as Delivery;
        const delivery = open[which % (open.length || 1)] ?? unknown;
        const outcome =
          amount % 3 === 0
            ? ({ status: 'pending', nextAt: this.#now + amount } as const)
            : ({ status: amount % 3 === 1 ? 'delivered' : 'failed' } as const);
        const attempt = { at: this.#now, status: null, error: 'x', milliseconds: amount };
        const tried = await store.recordAttempt(delivery, attempt, outcome);
        if (isCurrent() && tried.status !== 'pending') this.#delivered.set(tried.taskId, tried);
      },
      fail: async () => {
        const error = { type: 'billable_error', message: 'x', code: null } as const;
        const claim = await claimOf(store, id);
        this.#recordEnd(store, await store.failTask(claim, error, amount >> 2));
      },
      expire: async () => this.#recordEnd(store, await store.expireTask(await claimOf(store, id))),
      reopen: async () => void (await store.requeueTask(await claimOf(store, id))),
      hold: async () => {
        const hold = await store.reserve(key.accountId, key.id, amount);
        if (isCurrent()) this.#holds.push(hold);
      },
      settle: async () => {
        const hold = which % 3 === 0 ? undefined : this.#holds.shift();
        const payer = hold ?? { accountId: key.accountId, keyId: key.id };
        const metered = { model: `m${which % 2}`, counts: { outputTokens: 1 }, charge: amount };
        const charged = await store.settle(payer, metered);
        expect(charged).toBeLessThanOrEqual(amount);
        if (isCurrent()) this.#settled += charged;
      },
      release: async () => {
        const hold = this.#holds.shift();
        if (hold) await store.release(hold);
      },
      fold: async () => {
        if (which !== 0) return;
        const lines = 1 + (amount % 20);
        for (const account of await store.listAccounts()) {
          await store.compactLedger(account.id, { before: this.#now - amount * 600_000, lines });
        }
      },
      delete: async () => {
        this.#deleting = true;
        const deleted = await store.deleteTasks(this.#now - amount * 6_000_000);
        if (!isCurrent()) return;
        for (const task of deleted.tasks) {
          expect(isTerminal(task.status)).toBe(true);
          this.#deleted.add(task.id);
          if (task.callbackUrl !== null) this.#deletedWithDelivery.add(task.id);
        }
        const ids = new Set(deleted.tasks.map((task) => task.id));
        const gone = [...this.#assets].filter(([, taskId]) => taskId !== null && ids.has(taskId));
        // A crash may have kept more than was acknowledged.
        const kept = gone.map(([asset]) => asset);
        expect(deleted.assets.map((asset) => asset.id)).toEqual(expect.arrayContaining(kept));
        for (const asset of deleted.assets) {
          expect(ids.has(asset.taskId!)).toBe(true);
          expect(await store.findAsset(asset.id)).toBeUndefined();
        }
        const left = new Set((await everyTask(store)).map((task) => task.id));
        this.#tasks = this.#tasks.filter((task) => left.has(task));
      },
    };
    return methods[method]();
  }

  #recordEnd(store: Store, task: Task): void {
    if (store === this.#store) this.#ended.set(task.id, task);
  }
}

/** Random calls, restarts and crashes: all sums and references stay consistent. */
export function describeLedgerProperties(driver: DriverFactory): void {
  it('stays consistent under random calls, restarts and crashes', {
    timeout: 300_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const use = new RandomUse(driver);
        try {
          await use.begin();
          for (const one of steps) await use.take(one);
        } finally {
          await use.end();
        }
      }),
      { numRuns: runs(40), endOnFailure: true },
    );
  });
}
