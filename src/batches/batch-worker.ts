import { setTimeout as delay } from 'node:timers/promises';
import { FairSemaphore } from '../fair-semaphore.ts';
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
  /** Called with errors; the work is tried again. */
  readonly onFault: (error: unknown) => void;
}

/** Ranges that a node works on at once, and open batches that it looks at. */
const [MAX_RANGES, MAX_OPEN] = [8, 500];

/** Milliseconds between two looks at the open batches: while there are any, and while there are none. */
const [BUSY_INTERVAL, IDLE_INTERVAL] = [1000, 30_000];

/** Milliseconds for which a claim is valid on other nodes, and before its end when it is renewed. */
const [LEASE, RENEWAL] = [30_000, 20_000];

/** Milliseconds that a request of a batch waits at most for those of clients, and between two looks. */
const [MAX_PAUSE, PAUSE] = [100, 5];

/** Milliseconds between two questions to a provider for the state of a batch: at first, and at most. */
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
  /** When providers are asked for the state of batches, and how long to wait after that. */
  readonly #polls = new Map<string, { readonly at: number; readonly wait: number }>();
  #turns: Promise<void> = Promise.resolve();

  constructor(options: BatchWorkerOptions) {
    this.#options = options;
    const slots = new FairSemaphore(options.config().batches.parallel);
    const remote = new RemoteResults(options.assets);
    this.#services = { ...options, slots, remote, node: this.#node, turn: () => this.#turn() };
    this.#loop = new ClaimLoop(() => this.#look(), BUSY_INTERVAL, options.onFault);
  }

  /** Settles what a crash left, before files without a record are looked for; then takes up batches. */
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
    // In another order each time, so that no batch waits for the end of all before it.
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

  /** How a batch ends without its other lines; null while they run. */
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
      // A former node may have decided results that it did not charge: the next claim begins after them.
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
    const stop = this.#stops.get(id) ?? new LightAbortSignal();
    this.#stops.set(id, stop);
    if (this.#loop.isStopped) stop.abort(null);
    return stop;
  }

  /** Passes a batch to its provider, or asks for its state, less often while it waits. */
  #advance(batch: BatchDocument): void {
    const { store, onFault } = this.#options;
    const name = `${batch.id} remote`;
    const { at, wait } = this.#polls.get(name) ?? { at: 0, wait: FIRST_POLL };
    // A client that cancels need not wait for the next look.
    const isDue =
      performance.now() >= at || (batch.body.cancelling && !batch.body.remote?.isCancelled);
    if (!isDue || this.#running.has(name)) return;
    this.#polls.set(name, { at: performance.now() + wait, wait: Math.min(wait * 1.5, MAX_POLL) });
    const signal = this.#stopOf(batch.id);
    this.#run(name, () =>
      store
        .withLock(name, () => advanceRemote({ ...this.#services, ...this.#options }, batch, signal))
        .catch(onFault),
    );
  }

  /** Stops a batch, and ends it once no line of it runs on any node. */
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

  /** Waits, one request after the other, until no client waits for another request; for a while at most. */
  #turn(): Promise<void> {
    const { activity } = this.#options;
    this.#turns = this.#turns.then(async () => {
      const until = performance.now() + MAX_PAUSE;
      while (activity.isBusy && performance.now() < until) await delay(PAUSE);
    });
    return this.#turns;
  }
}

async function settleAll(store: Store, batch: BatchDocument): Promise<void> {
  for (const { id } of batch.body.ranges) await settleRange(store, batch, id);
}

/** The account and the key that pay for a batch, as they are now. */
async function holderOf(store: Store, { accountId, body }: BatchDocument): Promise<KeyHolder> {
  const holder = await findHolder(store, accountId, body.keyId);
  if (!holder) throw new Error(`the key ${body.keyId} of a batch is gone`);
  return holder;
}
