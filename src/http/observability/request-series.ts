import { remember } from '../../maps.ts';
import { MICRO } from '../../store/credits.ts';
import type { RequestRecord } from '../../store/requests/record.ts';
import type { RequestLog } from '../../store/requests/request-log.ts';
import { CLIENT_CLOSED_REQUEST } from '../transport/client-disconnect.ts';

/** Requests of a quarter of an hour, or of a day (UTC). */
interface Slot {
  requests: number;
  errors: number;
  /** Micro-credits. */
  charge: number;
  /** Counts of requests by latency. */
  readonly latencies: Uint32Array;
}

/** Slots of one length, by number, oldest first. */
type Slots = Map<number, Slot>;

/** A point of a series, or the sum of its points. */
export type SeriesPoint = ReturnType<typeof pointOf>;

/** What a series counts of a request. */
export interface Counted {
  readonly account: string;
  readonly isError: boolean;
  readonly milliseconds: number;
  /** Micro-credits. */
  readonly charge: number;
  /** Time of the end, in milliseconds since the epoch. */
  readonly at: number;
  /** Whether it is the charge of a task alone, which comes after its request. */
  readonly isCharge?: boolean;
}

export const SLOT_MS = 15 * 60_000;

const DAY_MS = 86_400_000;

/** The lengths of slots, and how many of them are kept: a day by quarters of an hour, and thirty days. */
const LENGTHS = {
  quarter: { milliseconds: SLOT_MS, kept: 96 },
  day: { milliseconds: DAY_MS, kept: 30 },
} as const;
type SlotLength = keyof typeof LENGTHS;

/** Slots of one account. */
type Timeline = Readonly<Record<SlotLength, Slots>>;

/** POST requests that change the server or sign in, and use no model. */
const OF_CONSOLE = /^\/v1\/(?:admin|session)\b/;

/** Records that are read at the start, and at once. */
const MAX_READ = 100_000;
const PAGE = 1000;

/** Accounts with a series of their own, some 40 KB each. */
const MAX_ACCOUNTS = 256;

/** Latencies of a bucket are up to 26 % apart: 60 buckets reach to 17 minutes. */
const BUCKETS = 60;
const STEPS_PER_DOUBLING = 3;

/** Requests, errors, charges and latencies of the last 24 hours and 30 days, of all accounts together and of each. */
export class RequestSeries {
  readonly #all = newTimeline();
  /** By account, the least recently used first. */
  readonly #accounts = new Map<string, Timeline>();
  readonly #now: () => number;
  /** Called with each request that ends here, and each charge of a task. */
  onCounted: ((request: Counted) => void) | undefined;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Counts a request that has ended. */
  add(request: Counted): void {
    const bucket = bucketOf(request.milliseconds);
    for (const slot of this.#slotsAt(request)) {
      slot.charge += request.charge;
      if (request.isCharge) continue;
      slot.requests += 1;
      if (request.isError) slot.errors += 1;
      slot.latencies[bucket]! += 1;
    }
  }

  /** Counts a request of the log. Those of the console, and those without a valid key, are none of a client. */
  addRecord(record: RequestRecord, isOfLog = false): void {
    const { account, route, status, error, latency_ms, credits, ended_ms } = record;
    if (account === null || OF_CONSOLE.test(route)) return;
    const counted = {
      account: account.id,
      isError: status !== CLIENT_CLOSED_REQUEST && (status >= 400 || error !== null),
      milliseconds: latency_ms,
      charge: Math.round((credits ?? 0) * MICRO),
      at: ended_ms,
    };
    this.add(counted);
    if (!isOfLog) this.onCounted?.(counted);
  }

  /**
   * Counts what the log has of the last 30 days from before a time: requests of an earlier process, and of other
   * nodes. Of more than `MAX_READ` requests, the newest count.
   */
  async readLog(log: Pick<RequestLog, 'query'>, before: number): Promise<void> {
    const filter = { from: this.#now() - LENGTHS.day.kept * DAY_MS, to: before };
    let after: number | null | undefined;
    for (let read = 0; read < MAX_READ && after !== null; read += PAGE) {
      const page = await log.query(filter, { limit: PAGE, after });
      for (const record of page.records) this.addRecord(record, true);
      after = page.next;
    }
  }

  /** Counts the charge of a task, which comes after its request. */
  addCharge(charge: Pick<Counted, 'account' | 'charge' | 'at'>): void {
    const counted = { ...charge, isError: false, milliseconds: 0, isCharge: true };
    this.add(counted);
    this.onCounted?.(counted);
  }

  /** The last 24 hours or 30 days in slots from the oldest, and their sum; of one account, or of all. */
  read(account?: string, length: SlotLength = 'quarter', kept: number = LENGTHS[length].kept) {
    const slots = (account === undefined ? this.#all : this.#accounts.get(account))?.[length];
    const { milliseconds } = LENGTHS[length];
    const first = Math.floor(this.#now() / milliseconds) - kept + 1;
    const sum = newSlot();
    const points = Array.from({ length: kept }, (_, index) => {
      const slot = slots?.get(first + index) ?? newSlot();
      addTo(sum, slot);
      return pointOf((first + index) * milliseconds, slot);
    });
    return { points, total: pointOf(first * milliseconds, sum) };
  }

  /** The slots that count a request. */
  #slotsAt({ account, at }: Pick<Counted, 'account' | 'at'>): readonly Slot[] {
    const found: Slot[] = [];
    for (const length of ['quarter', 'day'] as const) {
      const { milliseconds, kept } = LENGTHS[length];
      const number = Math.floor(at / milliseconds);
      const oldest = Math.floor(this.#now() / milliseconds) - kept + 1;
      if (number < oldest) continue;
      for (const timeline of [this.#all, this.#ofAccount(account)]) {
        found.push(slotIn(timeline[length], number, oldest));
      }
    }
    return found;
  }

  #ofAccount(account: string): Timeline {
    const timeline = this.#accounts.get(account) ?? newTimeline();
    remember(this.#accounts, account, timeline, MAX_ACCOUNTS);
    return timeline;
  }
}

const newTimeline = (): Timeline => ({ quarter: new Map(), day: new Map() });

function newSlot(): Slot {
  return { requests: 0, errors: 0, charge: 0, latencies: new Uint32Array(BUCKETS) };
}

function slotIn(slots: Slots, number: number, oldest: number): Slot {
  const known = slots.get(number);
  if (known) return known;
  const slot = newSlot();
  slots.set(number, slot);
  for (const old of slots.keys()) if (old < oldest) slots.delete(old);
  return slot;
}

function addTo(sum: Slot, { requests, errors, charge, latencies }: Slot): void {
  sum.requests += requests;
  sum.errors += errors;
  sum.charge += charge;
  for (const [bucket, count] of latencies.entries()) sum.latencies[bucket]! += count;
}

function bucketOf(milliseconds: number): number {
  const bucket = Math.ceil(Math.log2(Math.max(1, milliseconds)) * STEPS_PER_DOUBLING);
  return Math.min(BUCKETS - 1, bucket);
}

function pointOf(at: number, { requests, errors, charge, latencies }: Slot) {
  const [p50, p95] = [quantile(latencies, requests, 0.5), quantile(latencies, requests, 0.95)];
  return {
    /** Start of the slot, in milliseconds since the epoch; `charge` is in micro-credits. */
    ...{ at, requests, errors, charge },
    /** Latencies in milliseconds; null without requests. */
    ...{ p50, p95 },
  };
}

/** Milliseconds within which a share of the requests ended: the upper end of its bucket. */
function quantile(latencies: Uint32Array, requests: number, share: number): number | null {
  let rest = Math.ceil(requests * share);
  if (rest === 0) return null;
  const bucket = latencies.findIndex((count) => {
    rest -= count;
    return rest <= 0;
  });
  return Math.round(2 ** (bucket / STEPS_PER_DOUBLING));
}
