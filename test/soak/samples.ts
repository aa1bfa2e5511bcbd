import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../torture/client.ts';
import { Latencies, type Quantiles } from '../torture/latencies.ts';
import { descriptors, residentBytes } from '../torture/process-tree.ts';

/** State of the daemon at one time; null is what could not be read. */
export interface Sample {
  /** Seconds since the load began. */
  readonly at: number;
  /** Resident bytes of the daemon. */
  readonly rss: number | null;
  /** Resident bytes of the daemon and its child processes. */
  readonly tree: number | null;
  /** Bytes of the heap in use. */
  readonly heap: number | null;
  readonly fds: number | null;
  /** Files in the data folder, and their bytes. */
  readonly files: number | null;
  readonly bytes: number | null;
  /** Bytes of the log files. */
  readonly logs: number | null;
  /** Milliseconds to the first byte of small requests since the sample before. */
  readonly p50: number | null;
  readonly p99: number | null;
  /** Milliseconds by which the event loop was late since the sample before (p99). */
  readonly loop: number | null;
  /** Requests since the sample before. */
  readonly requests: number;
}

/** What a picture and a verdict need to know of a run. */
export interface Header {
  readonly hours: number;
  readonly seed: string;
  readonly started: string;
  readonly machine: Readonly<Record<string, string>>;
  /** Mixed requests a second: measured, and then sent. */
  readonly capacity: number;
  readonly rate: number;
  /** Seconds of the warm-up. */
  readonly warmUp: number;
  /** Whether deletions catch up with what is written within the run. */
  readonly isFull: boolean;
}

export interface Happening {
  readonly at: number;
  readonly happened: string;
}

/** The record of a run, which is written as it goes on: a run that breaks off can be drawn too. */
export class Recording {
  readonly samples: Sample[] = [];
  readonly happenings: Happening[] = [];
  readonly header: Header;
  readonly #file: string;

  private constructor(file: string, header: Header) {
    this.#file = file;
    this.header = header;
  }

  static begin(folder: string, header: Header): Recording {
    const file = join(folder, 'samples.jsonl');
    writeFileSync(file, `${JSON.stringify(header)}\n`);
    return new Recording(file, header);
  }

  static read(folder: string): Recording {
    const file = join(folder, 'samples.jsonl');
    const [header = '', ...lines] = readFileSync(file, 'utf8').trim().split('\n');
    const recording = new Recording(file, JSON.parse(header) as Header);
    for (const line of lines) {
      const read = JSON.parse(line) as Sample | Happening;
      if ('happened' in read) recording.happenings.push(read);
      else recording.samples.push(read);
    }
    return recording;
  }

  sample(sample: Sample): void {
    this.samples.push(sample);
    appendFileSync(this.#file, `${JSON.stringify(sample)}\n`);
  }

  happened(at: number, happened: string): void {
    this.happenings.push({ at, happened });
    appendFileSync(this.#file, `${JSON.stringify({ at, happened })}\n`);
  }
}

/** Latencies of the whole run, and of small requests since they were last taken. */
export class SoakLatencies extends Latencies {
  readonly #small: ReadonlySet<string>;
  #window = new Latencies();

  constructor(small: readonly string[]) {
    super();
    this.#small = new Set(small);
  }

  override add(group: string, milliseconds: number): void {
    super.add(group, milliseconds);
    this.#window.add(this.#small.has(group) ? 'small' : 'other', milliseconds);
  }

  take(): { small: Quantiles & { count: number }; count: number } {
    const window = this.#window;
    this.#window = new Latencies();
    return { small: window.of(['small']), count: window.of(['small', 'other']).count };
  }
}

/** Bytes and number of the files below a folder. Files may vanish meanwhile. */
async function sizeOf(folder: string): Promise<{ files: number; bytes: number }> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sum = { files: 0, bytes: 0 };
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const found = await stat(join(entry.parentPath, entry.name)).catch(() => null);
    if (found === null) continue;
    sum.files += 1;
    sum.bytes += found.size;
  }
  return sum;
}

interface Sampled {
  readonly url: string;
  /** Token of `/metrics`. */
  readonly token: string;
  readonly pid: () => number;
  readonly data: string;
  readonly logs: string;
  readonly latencies: SoakLatencies;
}

/** Takes a sample at an interval while `isRunning`. */
export async function sampleWhile(
  recording: Recording,
  sampled: Sampled,
  { interval, since, isRunning }: { interval: number; since: number; isRunning: () => boolean },
): Promise<void> {
  const { url, token, pid, data, logs, latencies } = sampled;
  for (let next = performance.now(); isRunning(); next += interval) {
    await sleep(Math.max(0, next - performance.now()));
    const text = await ask(url, { path: '/metrics', key: token })
      .then(({ body }) => body.toString())
      .catch(() => '');
    const metric = (name: string) => {
      const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(text) ?? [];
      return value === undefined ? null : Number(value);
    };
    const kept = await sizeOf(data).catch(() => null);
    const logged = await sizeOf(logs).catch(() => null);
    const { small, count } = latencies.take();
    const lag = metric('nodejs_eventloop_lag_p99_seconds');
    recording.sample({
      at: Math.round((performance.now() - since) / 100) / 10,
      rss: metric('process_resident_memory_bytes'),
      tree: residentBytes(pid()) || null,
      heap: metric('nodejs_heap_size_used_bytes'),
      fds: descriptors(pid()) || null,
      files: kept?.files ?? null,
      bytes: kept?.bytes ?? null,
      logs: logged?.bytes ?? null,
      p50: small.count === 0 ? null : Math.round(small.p50 * 10) / 10,
      p99: small.count === 0 ? null : Math.round(small.p99),
      loop: lag === null ? null : Math.round(lag * 1e4) / 10,
      requests: count,
    });
  }
}
