import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../../config/settings/schema.ts';
import type { Failure } from '../../failure.ts';
import { containerMemory } from '../../operations/pool/pool.ts';
import { overloaded } from '../responses/errors.ts';

/** Milliseconds between two measurements of the memory. */
const MEMORY_INTERVAL_MS = 100;

/** Milliseconds over which the delay of the event loop is averaged. */
const DELAY_INTERVAL_MS = 1000;

/** Resolution of the delay histogram in milliseconds; its values include it. */
const RESOLUTION_MS = 10;

/** Share of V8's heap that may be used; allocations between two measurements need the rest. */
const HEAP_SHARE = 0.95;

/** Share of V8's heap that is its old generation, by default at least. */
const OLD_GENERATION_SHARE = 0.75;

/** Share of all time that requested garbage collections may take. */
const COLLECTION_SHARE = 0.1;

/** A function that collects garbage: about a millisecond for each megabyte of live objects. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** Share of the container's memory for this process; the page cache and children need the rest. */
const CONTAINER_SHARE = 0.85;

/** Measures free memory and the delay of the event loop. Measuring never throws. */
export class Pressure {
  readonly #heapLimit = oldGenerationLimit() * HEAP_SHARE;
  readonly #memoryLimit: number;
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #timer: NodeJS.Timeout;
  readonly #collect = collector();
  /** Earliest time of the next requested collection, by `performance.now()`. */
  #mayCollectAt = 0;
  #free = Infinity;
  #rss = 0;
  #delay = 0;
  #delayMeasuredAt = performance.now();
  #cpuTime = mainThreadCpu();

  /** @param memoryLimit bytes of resident memory; undefined for a share of the container's memory */
  constructor(memoryLimit: number | undefined) {
    this.#memoryLimit = memoryLimit ?? defaultMemoryLimit();
    this.#histogram.enable();
    this.measure();
    this.#timer = setInterval(() => {
      this.relieve();
      this.#measureDelay();
    }, MEMORY_INTERVAL_MS).unref();
  }

  /**
   * Milliseconds by which the event loop was late through work of this process, on average over the last second.
   * Waiting for a processor that other processes use does not count: refusing requests would not shorten it.
   */
  get delay(): number {
    return this.#delay;
  }

  /** Free bytes of V8's heap or of the process, whichever has fewer. */
  get freeMemory(): number {
    return this.#free;
  }

  /** Forgets the delays so far, which the start of the process has caused. */
  reset(): void {
    this.#histogram.reset();
    this.#delay = 0;
    this.#delayMeasuredAt = performance.now();
    this.#cpuTime = mainThreadCpu();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }

  /** Subtracts bytes that a request is about to use, until the next measurement. */
  expect(bytes: number): void {
    this.#free -= bytes;
  }

  /** Measures the memory. Takes 30 µs. */
  measure(): void {
    try {
      this.#rss = process.memoryUsage.rss();
    } catch {
      // Reading /proc fails if no descriptor is free: the last value stays.
    }
    const heap = this.#heapLimit - getHeapStatistics().used_heap_size;
    this.#free = Math.min(heap, this.#memoryLimit - this.#rss);
  }

  /**
   * Measures the memory, and collects garbage if the heap is full. Called before a request is refused: under load
   * most of the heap is garbage, which V8 collects only when it would run out of memory.
   */
  relieve(): void {
    this.measure();
    const start = performance.now();
    if (this.#free > 0 || start < this.#mayCollectAt) return;
    if (getHeapStatistics().used_heap_size < this.#heapLimit) return;
    this.#collect();
    this.#mayCollectAt = start + (performance.now() - start) / COLLECTION_SHARE;
    this.measure();
  }

  #measureDelay(): void {
    const now = performance.now();
    const elapsed = now - this.#delayMeasuredAt;
    if (elapsed < DELAY_INTERVAL_MS) return;
    const { mean } = this.#histogram;
    // Without any value the event loop was blocked for the whole interval.
    const delay = Number.isNaN(mean) ? elapsed : Math.max(0, mean / 1e6 - RESOLUTION_MS);
    const ownShare = Math.min(1, (mainThreadCpu() - this.#cpuTime) / elapsed);
    this.reset();
    this.#delay = delay * ownShare;
  }
}

/** Bytes of resident memory above which the only process of a machine refuses requests. */
export const defaultMemoryLimit = () => Math.floor(containerMemory() * CONTAINER_SHARE);

/** Share of the memory that the process uses, of V8's heap or of all, whichever is fuller. @param limit as of `Pressure` */
export function memoryShare(limit: number | undefined): number {
  const heap = getHeapStatistics().used_heap_size / (oldGenerationLimit() * HEAP_SHARE);
  const all = limit ?? defaultMemoryLimit();
  return Math.max(heap, process.memoryUsage.rss() / all);
}

/** Milliseconds of a clock tick in /proc. */
const TICK_MS = 10;

/**
 * Milliseconds of CPU time that the main thread has used; those of all threads where the system does not tell them
 * apart. The event loop runs in the main thread, while other threads collect garbage and read files.
 */
function mainThreadCpu(): number {
  try {
    const stat = readFileSync(`/proc/self/task/${process.pid}/stat`, 'latin1');
    // Fields 14 and 15 of proc(5), counted behind the name, which may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  }
}

/**
 * Bytes that V8's old generation may use: with more, the process aborts. V8 reports only the sum of both
 * generations. The young one grows with the memory of the machine: with `--max-old-space-size=128` on a
 * large machine it is 48 MB on Node 20 and 192 MB on Node 24.
 */
function oldGenerationLimit(): number {
  const options = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ');
  const given = [...options.matchAll(/--max[-_]old[-_]space[-_]size[= ](\d+)/g)].at(-1)?.[1];
  // 0 stands for V8's own choice.
  if (Number(given) > 0) return Number(given) * 2 ** 20;
  return getHeapStatistics().heap_size_limit * OLD_GENERATION_SHARE;
}

export type LoadShedding = ReturnType<typeof shedLoad>;

/**
 * Refuses requests while the process is overloaded, rather than let all of them wait. As memory or time
 * runs short, the server refuses in this order:
 *
 * 1. new connections (`limitConnections`);
 * 2. large bodies (`BodyBudget`);
 * 3. new requests of the account that has the most in progress (`MemoryShares`);
 * 4. here, new requests of all accounts.
 *
 * Requests in progress are finished, and vital routes always answer.
 */
export function shedLoad(server: FastifyInstance, { eventLoopDelay, memory }: Config['overload']) {
  const pressure = new Pressure(memory);
  const failure = (): Failure | null => {
    if (pressure.delay > eventLoopDelay) {
      return overloaded('the server is overloaded: its event loop is late');
    }
    if (pressure.freeMemory <= 0) pressure.relieve();
    return pressure.freeMemory > 0 ? null : overloaded('the server is overloaded: memory is short');
  };
  server.addHook('onListen', async () => pressure.reset());
  server.addHook('onClose', async () => pressure.close());
  server.addHook('onRequest', (request, _reply, next) => {
    // Health and metrics are served under overload, so that operators can see its cause.
    const refusal = request.routeOptions.config.vital ? null : failure();
    if (refusal === null) next();
    else next(refusal);
  });
  return { pressure, failure };
}
