import { appendFile } from 'node:fs/promises';
import { codedFailure, type Failure } from '../../failure.ts';
import { getOrInsert } from '../../maps.ts';
import type { UpstreamRequest } from '../../upstream/request.ts';
import type { Upstream, UpstreamResponse } from '../../upstream/response.ts';
import { canonicalRequest, keyOf } from '../canonical-request.ts';
import type { CanonicalRequest, RecordedAnswer } from '../exchange.ts';
import { encodeExchange } from '../exchange-file.ts';
import { isOfProvider, recordingOf, unansweredBy } from '../recording.ts';
import { replay } from '../replay.ts';
import type { Mask } from '../secrets.ts';
import { maskAnswer } from '../secrets.ts';
import { describe, firstDifference, nearestTo, type Sketch, sketchOf } from './difference.ts';
import {
  cassetteFile,
  prepareFolder,
  readCassette,
  readCassettes,
  reasonOf,
  removeTail,
  writeCassette,
} from './folder.ts';

export interface CassetteSettings {
  readonly mode: 'record' | 'replay' | 'record-missing';
  readonly dir: string;
  /** Whether answers are replayed at their recorded pace. */
  readonly timing: boolean;
  /** File to which the names of used cassettes are added. */
  readonly used?: string | undefined;
}

/** Failures of a run with cassettes. Any entry should fail the run. */
export interface CassetteReport {
  /** Requests without a recording. */
  readonly misses: readonly CassetteMiss[];
  /** Why exchanges could not be recorded. */
  readonly failures: readonly string[];
}

export interface CassetteMiss {
  /** The provider's name of the model. */
  readonly model: string;
  /** Names the request, the nearest recording and the first field that differs. */
  readonly message: string;
}

interface CassetteOptions extends CassetteSettings {
  /** The network. */
  readonly upstream: Upstream;
  /** The mask of the configuration in force. */
  readonly mask: () => Mask;
  /** Called with the first failure of each kind. */
  readonly onFailure: (message: string) => void;
}

/** Maximum bytes of a recorded answer, which is in memory until its end. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Maximum number of messages in a report. */
const MAX_MESSAGES = 1000;

/** A sequence of equal requests, in the order in which they began. */
interface Sequence {
  /** Files of answers that an earlier process recorded. */
  readonly files: string[];
  /** Number of requests so far. */
  count: number;
  /** The latest recorded answer, with its number. */
  last: { readonly number: number; readonly text: string } | null;
}

/** Replays or records requests to providers. All other requests go to the network. */
export class CassetteUpstream implements Upstream {
  readonly isInstant: boolean;
  readonly #options: CassetteOptions;
  readonly #sequences = new Map<string, Sequence>();
  readonly #sketches: Sketch[] = [];
  readonly #misses: CassetteMiss[] = [];
  readonly #failures = new Set<string>();
  readonly #used = new Set<string>();
  #writes = Promise.resolve();

  private constructor(options: CassetteOptions) {
    this.#options = options;
    this.isInstant = options.mode === 'replay' && !options.timing;
  }

  /**
   * Opens a folder of cassettes.
   *
   * @throws Failure if it cannot be read or written, or a file in it is not a cassette
   */
  static async open(options: CassetteOptions): Promise<CassetteUpstream> {
    const cassettes = new CassetteUpstream(options);
    if (options.mode !== 'replay') await prepareFolder(options.dir);
    if (options.mode !== 'record') cassettes.#readAll();
    return cassettes;
  }

  #readAll(): void {
    const faults: string[] = [];
    const found: { key: string; number: number; file: string }[] = [];
    const cassettes = readCassettes(this.#options.dir, (fault) => faults.push(fault));
    for (const { file, number, exchange } of cassettes) {
      found.push({ key: keyOf(exchange.request), number, file });
      this.#sketches.push(sketchOf(file, exchange.request));
    }
    if (faults.length > 0) {
      const message = faults.slice(0, MAX_MESSAGES).join('\n');
      throw codedFailure('cassette_unreadable', message);
    }
    found.sort((a, b) => a.number - b.number);
    for (const { key, file } of found) this.#sequence(key).files.push(file);
  }

  get report(): CassetteReport {
    return { misses: this.#misses, failures: [...this.#failures] };
  }

  async open(url: string, request: UpstreamRequest): Promise<UpstreamResponse> {
    const { upstream, mode } = this.#options;
    if (request.exchange === undefined) return upstream.open(url, request);
    const mask = this.#options.mask();
    const canonical = await canonicalRequest(request.exchange, request, mask);
    const key = keyOf(canonical);
    const sequence = this.#sequence(key);
    sequence.count += 1;
    const number = sequence.count;
    const file = sequence.files[Math.min(number, sequence.files.length) - 1];
    const answer = file === undefined ? null : this.#read(file);
    if (answer !== null && !(mode === 'record-missing' && isCutOff(answer))) {
      this.#used.add(file!);
      return replay(answer, {
        server: request.name ?? 'The server',
        pace: this.#options.timing ? 'as-recorded' : 'in-turns',
        signal: request.signal,
        abandoned: () =>
          this.#missed(canonical.model, `the client left during the recording ${file}`),
      });
    }
    if (mode === 'replay') throw this.#miss(canonical);
    return this.#record(url, request, { canonical, key, sequence, number, mask });
  }

  /** Waits until all ended exchanges are written. */
  async close(): Promise<void> {
    const { used } = this.#options;
    await this.#writes;
    if (used === undefined || this.#used.size === 0) return;
    await appendFile(used, `${[...this.#used].sort().join('\n')}\n`).catch((error: unknown) =>
      this.#fail(`${used} cannot be written: ${reasonOf(error)}`),
    );
  }

  #sequence(key: string): Sequence {
    return getOrInsert(this.#sequences, key, () => ({ files: [], count: 0, last: null }));
  }

  /** The answer of a cassette; null if it was removed or damaged since the start. */
  #read(file: string): RecordedAnswer | null {
    try {
      return readCassette(this.#options.dir, file).answer;
    } catch (error) {
      this.#fail((error as Error).message);
      return null;
    }
  }

  #miss(canonical: CanonicalRequest): Failure {
    const { dir } = this.#options;
    const { model, method, path } = canonical;
    const nearest = nearestTo(canonical, this.#sketches);
    const what = `no recording answers ${method} ${path} of ${model}`;
    if (nearest === null) return this.#missed(model, `${what}; there is none in ${dir}`);
    let reason: string;
    try {
      const difference = firstDifference(readCassette(dir, nearest).request, canonical);
      reason = difference
        ? `which differs in ${describe(difference)}`
        : 'whose names are not sorted';
    } catch (error) {
      reason = (error as Error).message;
    }
    return this.#missed(model, `${what}; the nearest is ${nearest}, ${reason}`);
  }

  #missed(model: string, message: string): Failure {
    if (this.#misses.length < MAX_MESSAGES) this.#misses.push({ model, message });
    return codedFailure('cassette_miss', message);
  }

  async #record(url: string, request: UpstreamRequest, place: Place): Promise<UpstreamResponse> {
    const startedAt = performance.now();
    try {
      const response = await this.#options.upstream.open(url, request);
      return recordingOf(response, {
        startedAt,
        maxBytes: MAX_BYTES,
        onEnd: (answer) => this.#end(place, answer),
      });
    } catch (error) {
      if (isOfProvider(error)) this.#end(place, unansweredBy(error, startedAt));
      else if (place.sequence.count === place.number) place.sequence.count -= 1;
      throw error;
    }
  }

  /** Encodes an answer as soon as it ends, so that it is not in memory twice, and writes it after all others. */
  #end({ canonical, key, sequence, number, mask }: Place, answer: RecordedAnswer | null): void {
    const file = cassetteFile(canonical.model, key, number);
    if (answer === null) {
      this.#fail(`${file} was not recorded: the answer has over ${MAX_BYTES} bytes`);
      return;
    }
    const exchange = { request: canonical, answer: maskAnswer(answer, mask) };
    const encoded = encodeExchange(exchange);
    const text = canonical.method === 'GET' ? encoded.text.replace(/"times": ".*"/, '') : '';
    const { last } = sequence;
    const isRepeated = text !== '' && last?.number === number - 1 && last.text === text;
    if (isRepeated && sequence.count === number) {
      // Polls of a job in progress.
      sequence.count -= 1;
      return;
    }
    const isFirst = last === null;
    sequence.last = { number, text };
    this.#used.add(file);
    this.#writes = this.#writes.then(async () => {
      const { dir } = this.#options;
      try {
        if (isFirst) await removeTail(dir, cassetteFile(canonical.model, key, 1));
        await writeCassette(dir, file, encoded);
      } catch (error) {
        this.#fail(`recordings in ${dir} cannot be written: ${reasonOf(error)}`);
      }
    });
  }

  #fail(message: string): void {
    if (this.#failures.has(message) || this.#failures.size >= MAX_MESSAGES) return;
    this.#failures.add(message);
    this.#options.onFailure(message);
  }
}

interface Place {
  readonly canonical: CanonicalRequest;
  readonly key: string;
  readonly sequence: Sequence;
  readonly number: number;
  readonly mask: Mask;
}

/** Whether the reader would have read on. The bodies of errors and redirects are often left unread. */
const isCutOff = ({ end, status }: RecordedAnswer): boolean => end === 'abandoned' && status < 300;
