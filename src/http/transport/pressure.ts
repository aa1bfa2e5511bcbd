import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Milliseconds between two measurements of the memory. */
const MEMORY_INTERVAL = 100;

/** Milliseconds over which the delay of the event loop is averaged. */
const DELAY_INTERVAL = 1000;

/** Resolution of the histogram of delays, in milliseconds: its values include it. */
const RESOLUTION = 10;

/** Part of V8's heap that may be used: what is allocated between two measurements needs some. */
const HEAP_SHARE = 0.95;

/** Part of V8's whole heap that is its old generation, by default at least. */
const OLD_GENERATION_SHARE = 0.75;

/** The most of all time that collections take that are asked for. */
const COLLECTION_SHARE = 0.1;

/** Has V8 collect the whole heap: what is in use takes about a millisecond a megabyte. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** Part of the container's memory that the process may have: the page cache and children need some. */
const CONTAINER_SHARE = 0.85;

/** How much memory is left, and how far behind the event loop is. Measuring never throws. */
export class Pressure {
  readonly #heapLimit = oldGenerationLimit() * HEAP_SHARE;
  readonly #memoryLimit: number;
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  readonly #timer: NodeJS.Timeout;
  readonly #collect = collector();
  /** When the next collection may be asked for, of `performance.now()`. */
  #mayCollectAt = 0;
  #free = Infinity;
  #rss = 0;
  #delay = 0;
  #delayMeasuredAt = performance.now();

  /** @param memoryLimit bytes of resident memory; undefined for a part of the container's memory */
  constructor(memoryLimit: number | undefined) {
    this.#memoryLimit = memoryLimit ?? containerMemory() * CONTAINER_SHARE;
    this.#histogram.enable();
    this.measure();
    this.#timer = setInterval(() => {
      this.measure();
      this.#collectGarbage();
      this.#measureDelay();
    }, MEMORY_INTERVAL).unref();
  }

  /** Milliseconds by which the event loop was late, on average over the last second. */
  get delay(): number {
    return this.#delay;
  }

  /** Bytes that may still be used: of V8's heap or of the process, whichever has less. */
  get freeMemory(): number {
    return this.#free;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#histogram.disable();
  }

  /** Counts bytes that a request is about to use, until a measurement shows them. */
  expect(bytes: number): void {
    this.#free -= bytes;
  }

  /** Measures the memory. Takes 30 µs. */
  measure(): void {
    try {
      this.#rss = process.memoryUsage.rss();
    } catch {
      // Reads /proc, which fails where no descriptor is left: the last value counts.
    }
    const heap = this.#heapLimit - getHeapStatistics().used_heap_size;
    this.#free = Math.min(heap, this.#memoryLimit - this.#rss);
  }

  /**
   * Under load most of a full heap is garbage, for which nobody has to be refused: V8 would collect it
   * only where it would else have to end the process.
   */
  #collectGarbage(): void {
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
    if (elapsed < DELAY_INTERVAL) return;
    this.#delayMeasuredAt = now;
    const { mean } = this.#histogram;
    // Without a single value the event loop stood still for the whole interval.
    this.#delay = Number.isNaN(mean) ? elapsed : Math.max(0, mean / 1e6 - RESOLUTION);
    this.#histogram.reset();
  }
}

/**
 * Bytes that V8's old generation may use: with more, the process aborts. V8 states the limit of both
 * generations alone. Young objects have room in proportion to the memory of the machine: with
 * `--max-old-space-size=128` on a large one, 48 MB on Node 20 and 192 MB on Node 24.
 */
function oldGenerationLimit(): number {
  const options = [process.env['NODE_OPTIONS'], ...process.execArgv].join(' ');
  const given = [...options.matchAll(/--max[-_]old[-_]space[-_]size[= ](\d+)/g)].at(-1)?.[1];
  // 0 stands for V8's own choice.
  if (Number(given) > 0) return Number(given) * 2 ** 20;
  return getHeapStatistics().heap_size_limit * OLD_GENERATION_SHARE;
}

/** Bytes that the container may use (cgroup v1 or v2), or the machine where there is no container. */
function containerMemory(): number {
  // 0 or a huge number where there is no limit.
  const constrained = process.constrainedMemory() || Infinity;
  return Math.min(constrained, totalmem());
}
