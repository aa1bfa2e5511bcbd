import { FairSemaphore } from '../../fair-semaphore.ts';
import type {
  NewRequest,
  RequestBodies,
  RequestFilter,
  RequestLimits,
  RequestRecord,
  RequestSelection,
  RequestStorage,
} from './record.ts';
import { meets } from './record.ts';

/** Milliseconds in which requests are collected for one write. */
const COLLECT_MS = 200;

/** Milliseconds until a failed write is repeated. */
const RETRY_MS = 1000;

/** Bytes of requests that wait to be written, approximately; more are lost. */
const MAX_WAITING_BYTES = 8 * 2 ** 20;

/** Bytes of a record in memory, approximately. */
const RECORD_BYTES = 1024;

/** Milliseconds after which a search ends with what it has found. */
const SEARCH_MS = 1000;
const FIND_MS = 15_000;

/** Searches at once, and of one account. */
const SEARCHES = { all: 2, permitsPerClient: 1 };

/** Milliseconds between two looks for requests of other nodes, and how many numbers a look goes back. */
const POLL_MS = 1000;
const POLL_NUMBERS = 1000;

export interface RequestPage {
  /** From the newest to the oldest. */
  readonly records: readonly RequestRecord[];
  /** The number before which the next page begins; null after the last. */
  readonly next: number | null;
}

interface RequestLogObserver {
  /** Called after a failed write, which is repeated. */
  onFault(error: unknown): void;
  /** Called for a request that is not kept, since too many wait. */
  onLost(): void;
}

type Listener = (record: RequestRecord) => void;

/** The log of requests. A full disk or an unreachable database delays no request. */
export class RequestLog {
  observer: RequestLogObserver = { onFault() {}, onLost() {} };
  readonly #storage: RequestStorage;
  readonly #searches = new FairSemaphore(SEARCHES.all, SEARCHES);
  readonly #listeners = new Set<Listener>();
  /** Numbers of the last requests that listeners got. */
  #sent = new Set<number>();
  #poll: NodeJS.Timeout | undefined;
  #waiting: NewRequest[] = [];
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | null = null;

  constructor(storage: RequestStorage) {
    this.#storage = storage;
  }

  /** Keeps a request soon. What is not written yet is lost if the process dies. */
  add(request: NewRequest): void {
    const bytes = bytesOf(request);
    if (this.#waitingBytes + bytes > MAX_WAITING_BYTES) {
      this.observer.onLost();
      return;
    }
    this.#waiting.push(request);
    this.#waitingBytes += bytes;
    this.#timer ??= setTimeout(() => this.flush(), COLLECT_MS);
  }

  /** Writes what waits, if it can be written. */
  async flush(): Promise<void> {
    await this.#writing;
    if (this.#waiting.length === 0) return;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    await this.#writing;
  }

  /**
   * Finds requests. A page may be short, or empty, although others follow: a search takes a second at most.
   *
   * @param client whose search it is: searches of several take turns
   */
  async query(
    filter: RequestFilter,
    { limit, after = Infinity }: { readonly limit: number; readonly after?: number | undefined },
    client = '',
    milliseconds = SEARCH_MS,
  ): Promise<RequestPage> {
    await this.flush();
    const release = await this.#searches.acquire(client);
    const end = performance.now() + milliseconds;
    const records: RequestRecord[] = [];
    try {
      for await (const part of this.#storage.read(filter, after)) {
        for (const record of part.records) {
          if (!meets(record, filter)) continue;
          if (records.length === limit) return { records, next: records.at(-1)!.number };
          records.push(record);
        }
        if (performance.now() > end) return { records, next: part.lowest };
      }
    } finally {
      release();
    }
    return { records, next: null };
  }

  /** The newest request with an identifier; of one account, or of all. */
  async find(id: string, accountId?: string): Promise<RequestRecord | undefined> {
    const { records } = await this.query({ id, accountId }, { limit: 1 }, accountId, FIND_MS);
    return records[0];
  }

  /** Undefined where they were not kept, or are deleted. */
  async bodiesOf({
    number,
    has_bodies: hasBodies,
  }: RequestRecord): Promise<RequestBodies | undefined> {
    return hasBodies ? this.#storage.bodiesOf(number) : undefined;
  }

  /** Deletes requests with their bodies, or bodies alone. @returns how many */
  async remove(selection: RequestSelection, onlyBodies: boolean): Promise<number> {
    await this.flush();
    return this.#storage.remove(selection, onlyBodies);
  }

  async trim(limits: RequestLimits): Promise<void> {
    await this.#storage.trim(limits);
  }

  /** Calls a function with each request from now on. @returns a function that ends this */
  follow(listener: Listener): () => void {
    this.#listeners.add(listener);
    if (this.#storage.isShared) this.#poll ??= setInterval(() => void this.#look(), POLL_MS);
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearInterval(this.#poll);
      this.#poll = undefined;
    };
  }

  async close(): Promise<void> {
    clearInterval(this.#poll);
    await this.flush();
    clearTimeout(this.#timer);
    await this.#storage.close();
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting;
    this.#waiting = [];
    try {
      this.#send(await this.#storage.add(batch));
      this.#waitingBytes -= batch.reduce((sum, request) => sum + bytesOf(request), 0);
    } catch (error) {
      this.#waiting = [...batch, ...this.#waiting];
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.flush(), RETRY_MS);
      this.observer.onFault(error);
    }
  }

  /** Looks for requests of other nodes. */
  async #look(): Promise<void> {
    const found: RequestRecord[] = [];
    const lowest = Math.max(0, ...this.#sent) - POLL_NUMBERS;
    try {
      for await (const part of this.#storage.read({}, Infinity)) {
        found.push(...part.records.filter(({ number }) => number > lowest));
        if (part.lowest <= lowest || found.length >= POLL_NUMBERS) break;
      }
    } catch {
      // The database is away: the next look finds them.
      return;
    }
    this.#send(found.reverse());
  }

  #send(records: readonly RequestRecord[]): void {
    if (this.#listeners.size === 0) return;
    for (const record of records) {
      if (this.#sent.has(record.number)) continue;
      this.#sent.add(record.number);
      for (const listener of this.#listeners) listener(record);
    }
    if (this.#sent.size > 2 * POLL_NUMBERS) {
      this.#sent = new Set([...this.#sent].sort((a, b) => a - b).slice(-POLL_NUMBERS));
    }
  }
}

function bytesOf({ bodies }: NewRequest): number {
  if (bodies === null) return RECORD_BYTES;
  return RECORD_BYTES + 2 * (bodies.request.length + (bodies.answer?.length ?? 0));
}
