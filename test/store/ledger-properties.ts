import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Account, ApiKey } from '../../src/store/account.ts';
import type { Delivery } from '../../src/store/delivery.ts';
import type { Reservation, Store } from '../../src/store/store.ts';
import { isTerminal, type Task } from '../../src/store/task.ts';
import { temporaryFolder } from '../oriel.ts';
import { everyTask, findInconsistencies } from './consistency.ts';
import type { DriverFactory } from './driver-factory.ts';
import { keyFor, newAsset, taskFor } from './records.ts';

const VERBS = [
  'grant',
  'create',
  'create',
  'claim',
  'claim',
  'complete',
  'complete',
  'note',
  'upload',
  'deliver',
  'deliver',
  'forget uploads',
  'forget inputs',
  'fail',
  'expire',
  'reopen',
  'hold',
  'hold',
  'settle',
  'settle',
  'release',
  'fold',
  'delete',
] as const;

/** One verb; the numbers choose what it is about and how much. */
interface Call {
  readonly verb: (typeof VERBS)[number];
  readonly which: number;
  readonly amount: number;
}

/** Calls made at once, and what happens after, or right between them. */
interface Step {
  readonly calls: readonly Call[];
  readonly after: 'go on' | 'reopen' | 'crash' | 'crash at once';
}

const step: fc.Arbitrary<Step> = fc.record({
  calls: fc.array(
    fc.record({
      verb: fc.constantFrom(...VERBS),
      which: fc.nat(9),
      amount: fc.nat(60),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  after: fc.constantFrom('go on', 'go on', 'go on', 'go on', 'reopen', 'crash', 'crash at once'),
});

/** What may go wrong by the rules; anything else is a defect. */
const REFUSALS = [
  'insufficient_credits',
  'key_budget_exceeded',
  'task_state',
  'task_not_found',
  'storage_full',
  'delivery_state',
  'delivery_not_found',
];

/** Bytes that uploads of one account may have. */
const ROOM = 100;

/** A store under random use, beside what its user knows of it. */
class Trial {
  readonly #subject: DriverFactory;
  readonly #abandoned: Store[] = [];
  #folder = temporaryFolder();
  #store!: Store;
  #now = Date.UTC(2026, 10, 21);
  #keys: ApiKey[] = [];
  #tasks: string[] = [];
  #holds: Reservation[] = [];
  /** Grants acknowledged, and asked for. */
  #granted = 0;
  #asked = 0;
  /** Charges of requests that were acknowledged. */
  #settled = 0;
  /** Acknowledged ends of tasks: they never change. */
  readonly #ended = new Map<string, Task>();
  /** Acknowledged assets but inputs, and the task of each; null for uploads. */
  readonly #assets = new Map<string, string | null>();
  /** Acknowledged inputs, which are there at least as long as their task is open. */
  readonly #inputs = new Map<string, string>();
  /** Acknowledged ends of deliveries: they never change. */
  readonly #delivered = new Map<string, Delivery>();
  /** Deleted tasks that had a delivery, which must have ended. */
  readonly #told = new Set<string>();
  #deleting = false;
  readonly #deleted = new Set<string>();

  constructor(subject: DriverFactory) {
    this.#subject = subject;
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
    this.#granted = this.#asked = 200;
  }

  async take({ calls, after }: Step): Promise<void> {
    const results = Promise.allSettled(calls.map((call) => this.#call(call)));
    if (after === 'crash at once') {
      // Some may be on disk by now and some not, some acknowledged and some not.
      for (let turn = calls[0]!.amount % 8; turn > 0; turn -= 1) await setImmediate();
      await this.#crash();
      await results;
    } else {
      const refused = (await results).flatMap((result) =>
        result.status === 'rejected' ? [result.reason] : [],
      );
      for (const reason of refused) expect(REFUSALS).toContain((reason as { code: string }).code);
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
    this.#store = await this.#subject.open(this.#folder, { now: () => this.#now });
  }

  async #crash(): Promise<void> {
    this.#folder = this.#subject.copyOfCrashed(this.#folder);
    this.#abandoned.push(this.#store);
    // What is acknowledged from now on does not count: nobody is there to hear it.
    this.#store = undefined as never;
    this.#holds = [];
    await this.#open();
    // What was asked for but not acknowledged may have happened all the same.
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
    const { granted } = this.#store.statistics().credits;
    expect(granted).toBeGreaterThanOrEqual(this.#granted);
    expect(granted).toBeLessThanOrEqual(this.#asked);
    this.#granted = this.#asked = granted;
    expect(this.#store.statistics().credits.spent).toBeGreaterThanOrEqual(this.#settled);
  }

  async #check(): Promise<void> {
    expect(await findInconsistencies(this.#store, this.#holds)).toEqual([]);
    expect(this.#store.statistics().credits.granted).toBe(this.#granted);
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
    for (const id of this.#told) expect(this.#delivered.has(id)).toBe(true);
    for (const [taskId, delivery] of this.#delivered) {
      const told = await this.#store.listDeliveries(delivery.accountId, taskId);
      expect(told).toEqual(tasks.has(taskId) ? [delivery] : undefined);
    }
  }

  async #call({ verb, which, amount }: Call): Promise<void> {
    const store = this.#store;
    const key = this.#keys[which % this.#keys.length]!;
    const id = this.#tasks[which % (this.#tasks.length || 1)] ?? 'task_none';
    // Forwards as a rule, and sometimes back.
    this.#now += (amount - 10) * 600_000;
    const metered = { model: `m${which % 2}`, counts: { outputTokens: 1 }, charge: amount };
    switch (verb) {
      case 'grant': {
        this.#asked += amount;
        await store.grant(key.accountId, amount);
        // A store that was left behind by a crash counts no more.
        if (store === this.#store) this.#granted += amount;
        return;
      }
      case 'create': {
        const assets = amount % 3 === 0 ? [newAsset(), newAsset()] : [];
        const callbackUrl = amount % 2 === 0 ? 'https://example.com/told' : null;
        const { task } = await store.createTask(
          taskFor(key, { reservation: amount, assets, callbackUrl }),
        );
        if (store !== this.#store) return;
        this.#tasks.push(task.id);
        for (const asset of assets) this.#inputs.set(asset.id, task.id);
        return;
      }
      case 'claim': {
        await store.claimTask(id);
        return;
      }
      case 'complete': {
        const assets = amount % 2 === 0 ? [newAsset()] : [];
        const counts = { outputs: 1 };
        const completion = { result: { which }, charge: amount >> 1, counts, assets };
        this.#noteEnd(store, await store.completeTask(id, completion));
        if (store === this.#store) for (const asset of assets) this.#assets.set(asset.id, id);
        return;
      }
      case 'note': {
        const progress = { job: amount };
        expect(await store.saveProgress(id, progress)).toMatchObject({ progress });
        return;
      }
      case 'upload': {
        const asset = newAsset({ bytes: amount });
        await store.addUpload(key.accountId, asset, ROOM);
        if (store === this.#store) this.#assets.set(asset.id, null);
        return;
      }
      case 'forget uploads': {
        this.#deleting = true;
        const forgotten = await store.deleteUploads(this.#now - amount * 600_000);
        if (store !== this.#store) return;
        for (const asset of forgotten) {
          expect(asset.taskId).toBeNull();
          expect(await store.findAsset(asset.id)).toBeUndefined();
          this.#assets.delete(asset.id);
        }
        return;
      }
      case 'forget inputs': {
        const spent = await store.deleteInputs();
        for (const { input, id: gone } of spent) {
          expect(input).toBe('spent');
          expect(await store.findAsset(gone)).toBeUndefined();
        }
        return;
      }
      case 'deliver': {
        const open = await store.listPendingDeliveries();
        const delivery = open[which % (open.length || 1)];
        const outcome =
          amount % 3 === 0
            ? ({ status: 'pending', nextAt: this.#now + amount } as const)
            : ({ status: amount % 3 === 1 ? 'delivered' : 'failed' } as const);
        const attempt = { at: this.#now, status: null, error: 'x', milliseconds: amount };
        const tried = await store.recordAttempt(delivery?.id ?? 'msg_none', attempt, outcome);
        if (store === this.#store && tried.status !== 'pending') {
          this.#delivered.set(tried.taskId, tried);
        }
        return;
      }
      case 'fail': {
        const error = { type: 'billable_error', message: 'x', code: null } as const;
        return this.#noteEnd(store, await store.failTask(id, error, amount >> 2));
      }
      case 'expire':
        return this.#noteEnd(store, await store.expireTask(id));
      case 'reopen': {
        await store.requeueTask(id);
        return;
      }
      case 'hold': {
        const hold = await store.reserve(key.accountId, key.id, amount);
        if (store === this.#store) this.#holds.push(hold);
        return;
      }
      case 'settle': {
        const hold = which % 3 === 0 ? undefined : this.#holds.shift();
        const charged = await store.settle(
          hold ?? { accountId: key.accountId, keyId: key.id },
          metered,
        );
        expect(charged).toBeLessThanOrEqual(amount);
        if (store === this.#store) this.#settled += charged;
        return;
      }
      case 'release': {
        const hold = this.#holds.shift();
        if (hold) await store.release(hold);
        return;
      }
      case 'fold':
        if (which !== 0) return;
        for (const { id } of await store.listAccounts()) {
          const lines = 1 + (amount % 20);
          await store.compactLedger(id, { before: this.#now - amount * 600_000, lines });
        }
        return;
      case 'delete': {
        const before = this.#now - amount * 6_000_000;
        this.#deleting = true;
        const deleted = await store.deleteTasks(before);
        if (store !== this.#store) return;
        for (const task of deleted.tasks) {
          expect(isTerminal(task.status)).toBe(true);
          this.#deleted.add(task.id);
          if (task.callbackUrl !== null) this.#told.add(task.id);
        }
        const ids = new Set(deleted.tasks.map((task) => task.id));
        const gone = [...this.#assets].filter(([, taskId]) => taskId !== null && ids.has(taskId));
        // What a crash has kept of unacknowledged verbs may be more than is known.
        expect(deleted.assets.map((asset) => asset.id)).toEqual(
          expect.arrayContaining(gone.map(([asset]) => asset)),
        );
        for (const asset of deleted.assets) {
          expect(ids.has(asset.taskId!)).toBe(true);
          expect(await store.findAsset(asset.id)).toBeUndefined();
        }
        const left = new Set((await everyTask(store)).map((task) => task.id));
        this.#tasks = this.#tasks.filter((task) => left.has(task));
        return;
      }
    }
  }

  #noteEnd(store: Store, task: Task): void {
    if (store === this.#store) this.#ended.set(task.id, task);
  }
}

/** Whatever is done in whatever order, and however it is interrupted: the sums are right. */
export function describeLedgerProperties(subject: DriverFactory): void {
  it('adds up, whatever is done to it', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const trial = new Trial(subject);
        try {
          await trial.begin();
          for (const one of steps) await trial.take(one);
        } finally {
          await trial.end();
        }
      }),
      { numRuns: Number(process.env['ORIEL_RUNS'] ?? 40), endOnFailure: true },
    );
  });
}
