import { setTimeout as delay } from 'node:timers/promises';
import { FairSemaphore } from '../fair-semaphore.ts';
import { oneByOne } from '../flow.ts';
import { getOrInsert } from '../maps.ts';
import { ClaimLoop } from '../media/queue/claim-loop.ts';
import { changeDocument } from '../store/document.ts';
import { newId } from '../store/identifier.ts';
import { findHolder } from '../store/key.ts';
import type { KeyHolder, Store } from '../store/store.ts';
import type { Activity } from '../text/stages/stage.ts';
import { LightAbortSignal } from '../upstream/abort-signal.ts';
import type { Upstream } from '../upstream/response.ts';
import type { BatchBody, BatchDocument, BatchEnd } from './batch.ts';
import { finishBatch } from './finish.ts';
import { type RangeServices, runRange, settleRange, withRange } from './range-run.ts';
import { advanceRemote, isAtProvider } from './remote-batch.ts';
import { RemoteResults } from './remote-results.ts';

interface BatchWorkerOptions extends Omit<RangeServices, 'slots' | 'turn' | 'node' | 'remote'> {
  readonly activity: Activity;
  readonly upstream: Upstream;
  /** Called with each error, after which the work is retried. */
  readonly onFault: (error: unknown) => void;
}

/** Maximum number of ranges that a node works on at the same time, and of open batches that it considers. */
const [MAX_RANGES, MAX_OPEN] = [8, 500];

/** How often open batches are looked up, in milliseconds: if there are any, and if there are none. */
const [BUSY_INTERVAL, IDLE_INTERVAL] = [1000, 30_000];

/** How long a claim is valid, and how long before its end it is renewed, in milliseconds. */
const [LEASE, RENEWAL] = [30_000, 20_000];

/** How long a request of a batch yields to those of clients at most, and how often it checks, in milliseconds. */
const [MAX_PAUSE, PAUSE] = [100, 5];

/** Delay between two polls of a provider for the state of a batch, in milliseconds: at first, and at most. */
const [FIRST_POLL, MAX_POLL] = [1000, 60_000];

/** Runs open batches, together with other nodes. */
export class BatchWorker {
  readonly #services: RangeServices;
  readonly #options: BatchWorkerOptions;
  readonly #node = newId('worker');
  readonly #loop: ClaimLoop;
  /** Work on ranges and ends of batches, by batch and part. */
  readonly #running = new Map<string, Promise<void>>();
  /** Stops the ranges of a batch. */
  readonly #stops = new Map<string, LightAbortSignal>();
  /** When to ask providers for the state of batches next, and the delay after that. */
  readonly #polls = new Map<string, { readonly at: number; readonly wait: number }>();
  readonly #oneByOne = oneByOne();

  constructor(options: BatchWorkerOptions) {
    this.#options = options;
    const slots = new FairSemaphore(options.config().batches.parallel);
    const remote = new RemoteResults(options.assets);
    this.#services = { ...options, slots, remote, node: this.#node, turn: () => this.#turn() };
    this.#loop = new ClaimLoop(() => this.#look(), BUSY_INTERVAL, options.onFault);
  }

  /** Settles results that a crash interrupted, before the sweep for files without a record; then starts work. */
  async start(): Promise<void> {
    const { store } = this.#options;
    for (const batch of store.isShared ? [] : await this.#open()) await settleAll(store, batch);
    this.wake();
  }

  /** There is a new batch, or one in a new state. */
  wake(): void {
    this.#loop.wakeIn(0);
  }

  /** Starts no more requests. */
  drain(): void {
    this.#loop.stop();
    for (const stop of this.#stops.values()) stop.abort(null);
  }

  /** Resolves once the requests that run have ended, and their results are stored. */
  async close(): Promise<void> {
    this.drain();
    await this.#loop.ended();
    await Promise.all(this.#running.values());
  }

  async #open(): Promise<readonly BatchDocument[]> {
    const { documents } = this.#options.store;
    const found = [
      ...(await documents.listOpen('batch', MAX_OPEN)),
      ...(await documents.listOpen('message_batch', MAX_OPEN)),
    ] as BatchDocument[];
    // In random order, so that no batch waits until all earlier ones have ended.
    return found
      .map((batch) => [Math.random(), batch] as const)
      .sort(([one], [other]) => one - other)
      .map(([, batch]) => batch);
  }

  async #look(): Promise<number> {
    const { store } = this.#options;
    const open = await this.#open();
    for (const batch of open) {
      const end = this.#endOf(batch.body);
      if (isAtProvider(batch.body)) this.#advance(batch);
      else if (end !== null) await this.#end(batch, end);
      else if ((batch.body.leases[this.#node] ?? Infinity) < store.now + RENEWAL) {
        await changeDocument<BatchBody>(store.documents, batch, (body) => this.#leased(body));
      }
    }
    // One range of each batch in turn.
    for (let waiting = open; waiting.length > 0 && !this.#loop.isStopped; ) {
      const left: BatchDocument[] = [];
      for (const batch of waiting) {
        const claimed = await this.#claim(batch);
        if (claimed) left.push(claimed);
      }
      waiting = left;
    }
    return open.length > 0 || store.isShared ? BUSY_INTERVAL : IDLE_INTERVAL;
  }

  /** Status with which a batch ends early, without its remaining lines; null if they should run. */
  #endOf({ status, expires, ranges, remote }: BatchBody): BatchEnd | null {
    if (ranges.length === 0) return remote?.ended ?? 'completed';
    if (remote) return null;
    if (status === 'cancelling') return 'cancelled';
    return expires <= this.#options.store.now ? 'expired' : null;
  }

  /** Whether no worker holds a range. */
  #isFree({ id, body }: Pick<BatchDocument, 'id' | 'body'>, range: BatchBody['ranges'][number]) {
    const { store } = this.#options;
    if (range.by === this.#node) return !this.#running.has(`${id} ${range.id}`);
    return range.by === undefined || !store.isShared || (body.leases[range.by] ?? 0) <= store.now;
  }

  #leased(body: BatchBody) {
    const leases = { ...body.leases, [this.#node]: this.#options.store.now + LEASE };
    return { body: { ...body, leases } };
  }

  /** Claims a range, and begins to work on it. @returns the batch, which may have more of them */
  async #claim(batch: BatchDocument): Promise<BatchDocument | null> {
    const { documents } = this.#options.store;
    const freeIn = (body: BatchBody) =>
      body.ranges.find((range) => this.#isFree({ id: batch.id, body }, range));
    if (this.#running.size >= MAX_RANGES || isAtProvider(batch.body) || !freeIn(batch.body))
      return null;
    let rangeId = -1;
    const claimed = await changeDocument<BatchBody>(documents, batch, (body) => {
      const free = this.#endOf(body) === null ? freeIn(body) : undefined;
      rangeId = free?.id ?? -1;
      return free ? withRange(this.#leased(body).body, { ...free, by: this.#node }) : null;
    });
    if (claimed) this.#run(`${batch.id} ${rangeId}`, () => this.#work(claimed, rangeId));
    return claimed ?? null;
  }

  #run(name: string, work: () => Promise<void>): void {
    const ended = work().then(
      () => 0,
      (error: unknown) => {
        this.#options.onFault(error);
        return BUSY_INTERVAL;
      },
    );
    const next = ended.then((milliseconds) => {
      this.#running.delete(name);
      this.#loop.wakeIn(milliseconds);
    });
    this.#running.set(name, next);
  }

  async #work(claimed: BatchDocument, rangeId: number): Promise<void> {
    const { store } = this.#options;
    const stop = this.#stopOf(claimed.id);
    try {
      // Another node may have decided results without charging them: the next claim begins after them.
      if (claimed.body.ranges.find(({ id }) => id === rangeId)?.pending) {
        await settleRange(store, claimed, rangeId);
      } else {
        const holder = await holderOf(store, claimed);
        await runRange(this.#services, claimed, rangeId, { holder, stop });
      }
    } finally {
      await changeDocument<BatchBody>(store.documents, claimed, (body) => {
        const own = body.ranges.find(({ id, by }) => id === rangeId && by === this.#node);
        return own ? withRange(body, { ...own, by: undefined }) : null;
      }).catch(this.#options.onFault);
    }
  }

  #stopOf(id: string): LightAbortSignal {
    const stop = getOrInsert(this.#stops, id, () => new LightAbortSignal());
    if (this.#loop.isStopped) stop.abort(null);
    return stop;
  }

  /** Passes a batch to its provider, or asks for its state, less and less often. */
  #advance(batch: BatchDocument): void {
    const { store, onFault } = this.#options;
    const name = `${batch.id} remote`;
    const { at, wait } = this.#polls.get(name) ?? { at: 0, wait: FIRST_POLL };
    // A cancellation does not wait for the next poll.
    const isDue =
      performance.now() >= at || (batch.body.cancelling && !batch.body.remote?.isCancelled);
    if (!isDue || this.#running.has(name)) return;
    this.#polls.set(name, { at: performance.now() + wait, wait: Math.min(wait * 1.5, MAX_POLL) });
    const signal = this.#stopOf(batch.id);
    const services = { ...this.#services, ...this.#options };
    const advance = () => advanceRemote(services, batch, signal);
    this.#run(name, () => store.withLock(name, advance).catch(onFault));
  }

  /** Stops a batch, and ends it once no node runs a line of it. */
  async #end(batch: BatchDocument, as: BatchEnd): Promise<void> {
    const { store } = this.#options;
    const name = `${batch.id} end`;
    this.#stops.get(batch.id)?.abort(null);
    if (this.#running.has(name) || batch.body.ranges.some((one) => !this.#isFree(batch, one)))
      return;
    this.#stops.delete(batch.id);
    this.#polls.delete(`${batch.id} remote`);
    this.#services.remote.forget(batch.body);
    this.#run(name, () =>
      store.withLock(name, async () => {
        await settleAll(store, batch);
        const { kind, accountId, id } = batch;
        const settled = await store.documents.find({ kind, accountId, id });
        if (settled?.isOpen) await finishBatch(this.#options, settled as BatchDocument, as);
      }),
    );
  }

  /** Yields to the requests of clients, for a limited time. Requests of batches do so one after another. */
  #turn(): Promise<void> {
    const { activity } = this.#options;
    return this.#oneByOne(async () => {
      const until = performance.now() + MAX_PAUSE;
      while (activity.isBusy && performance.now() < until) await delay(PAUSE);
    });
  }
}

async function settleAll(store: Store, batch: BatchDocument): Promise<void> {
  for (const { id } of batch.body.ranges) await settleRange(store, batch, id);
}

/** The current records of the account and the key that pay for a batch. */
async function holderOf(store: Store, { accountId, body }: BatchDocument): Promise<KeyHolder> {
  const holder = await findHolder(store, accountId, body.keyId);
  if (!holder) throw new Error(`the key ${body.keyId} of a batch is gone`);
  return holder;
}
