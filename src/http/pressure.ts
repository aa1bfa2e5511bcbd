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

/**
 * Part of V8's heap limit that may be used. The limit includes 48 MB of young generation: of 176 MB
 * under `--max-old-space-size=128`, the process aborts when 128 MB are in the old generation.
 */
const HEAP_SHARE = 0.7;

/** Milliseconds between two collections that are asked for. */
const COLLECTION_INTERVAL = 2000;

/** Has V8 collect the whole heap: what is in use takes about a millisecond a megabyte. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc') as () => void;
}

/** Part of the container's memory that the process may have: the page cache and children need some. */
const CONTAINER_SHARE = 0.85;

/** How much memory is left, and how far behind the event loop is. Measuring never throws. */
export class Pressure {
  readonly #heapLimit = getHeapStatistics().heap_size_limit * HEAP_SHARE;
  readonly #memoryLimit: number;
  readonly #histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  readonly #timer: NodeJS.Timeout;
  readonly #collect = collector();
  #collectedAt = -Infinity;
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
    if (this.#free > 0 || performance.now() - this.#collectedAt < COLLECTION_INTERVAL) return;
    if (getHeapStatistics().used_heap_size < this.#heapLimit) return;
    this.#collect();
    this.#collectedAt = performance.now();
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

/** Bytes that the container may use (cgroup v1 or v2), or the machine where there is no container. */
function containerMemory(): number {
  // 0 or a huge number where there is no limit.
  const constrained = process.constrainedMemory() || Infinity;
  return Math.min(constrained, totalmem());
}
