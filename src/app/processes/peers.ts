import cluster, { type Worker } from 'node:cluster';
import type { MetricFamilies } from '../../http/observability/metric-registry.ts';
import type { Metrics } from '../../http/observability/metrics.ts';
import type { Counted } from '../../http/observability/request-series.ts';
import type { ProcessPlace } from './share.ts';

/** Messages of a process to its supervisor. */
export type FromProcess =
  | { readonly oriel: 'ready'; readonly url: string; readonly operationsUrl: string | undefined }
  /** Asks for the metrics of all processes. */
  | { readonly oriel: 'collect'; readonly id: number }
  | { readonly oriel: 'metrics'; readonly id: number; readonly metrics: MetricFamilies }
  /** Requests that have ended here, for the overviews of the others. */
  | { readonly oriel: 'requests'; readonly requests: readonly Counted[] }
  /** The owner has asked this process to read the configuration again. */
  | { readonly oriel: 'reload' }
  /** The last request has ended. */
  | { readonly oriel: 'ended'; readonly metrics: MetricFamilies };

/** Messages of the supervisor to a process. */
export type ToProcess =
  | { readonly oriel: 'drain'; readonly isReplaced: boolean }
  | { readonly oriel: 'metrics'; readonly id: number }
  | { readonly oriel: 'collected'; readonly id: number; readonly all: readonly MetricFamilies[] }
  | { readonly oriel: 'requests'; readonly requests: readonly Counted[] }
  | { readonly oriel: 'ended' };

/** Milliseconds in which ended requests are gathered, and in which the supervisor answers. */
const GATHER_MS = 500;
const ANSWER_MS = 3000;

/** Ended requests that wait for the others at most. */
const MAX_GATHERED = 10_000;

const VARIABLE = 'ORIEL_PROCESS';

/** The variable that names the place of a process. */
export function placeVariable({ number, count, isFirst }: ProcessPlace): Record<string, string> {
  return { [VARIABLE]: [number, count, Number(isFirst)].join('/') };
}

/** A process's connection to its supervisor, and through it to the other processes. */
export class Peers {
  readonly place: ProcessPlace;
  /** Data folder of all processes together. */
  dataDir = '';
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (all: readonly MetricFamilies[]) => void>();
  #gathered: Counted[] = [];
  #metrics: Metrics | undefined;
  #nextId = 0;
  #onEnded = () => {};
  /** Resolves when this process shall end: `replaced` where another one has taken its place. */
  readonly end: Promise<'replaced' | 'stopped' | 'orphaned'>;

  /** @returns undefined in a process without a supervisor */
  static join(): Peers | undefined {
    const [number = 0, count = 0, isFirst = 0] = (process.env[VARIABLE] ?? '')
      .split('/')
      .map(Number);
    delete process.env[VARIABLE];
    if (!cluster.worker || number < 1) return undefined;
    return new Peers(cluster.worker, { number, count, isFirst: isFirst === 1 });
  }

  private constructor(worker: Worker, place: ProcessPlace) {
    this.#worker = worker;
    this.place = place;
    this.end = new Promise((resolve) => {
      worker.on('message', (message: ToProcess) => {
        if (message.oriel === 'drain') resolve(message.isReplaced ? 'replaced' : 'stopped');
        else this.#receive(message);
      });
      worker.on('disconnect', () => {
        // Otherwise Node ends the process at once, with all its requests.
        worker.exitedAfterDisconnect = true;
        this.#onEnded();
        resolve('orphaned');
      });
    });
  }

  /** Answers for the metrics of this process from now on, and reports its requests to the others. */
  serve(metrics: Metrics): void {
    this.#metrics = metrics;
    metrics.collect = () => this.#collect();
    metrics.requestSeries.onCounted = (request) => {
      if (this.#gathered.length === 0) setTimeout(() => this.#tell(), GATHER_MS).unref();
      if (this.#gathered.length < MAX_GATHERED) this.#gathered.push(request);
    };
  }

  ready(url: string, operationsUrl: string | undefined): void {
    this.#send({ oriel: 'ready', url, operationsUrl });
  }

  /** Asks the others to read the configuration too. */
  reload(): void {
    this.#send({ oriel: 'reload' });
  }

  /**
   * Hands the counters of this process to the supervisor, which adds them to the metrics of the others. Connections that
   * were on their way here when the listener closed are back at the supervisor once it has answered.
   */
  async leave(): Promise<void> {
    this.#tell();
    const metrics = (await this.#metrics?.getMetricsAsJSON()) ?? [];
    const ended = new Promise<void>((resolve) => {
      this.#onEnded = resolve;
      setTimeout(resolve, ANSWER_MS).unref();
    });
    if (this.#send({ oriel: 'ended', metrics })) await ended;
  }

  /** Ends the connection, which keeps the process running. */
  disconnect(): void {
    this.#worker.exitedAfterDisconnect = true;
    if (this.#worker.isConnected()) process.disconnect();
  }

  #send(message: FromProcess): boolean {
    if (!this.#worker.isConnected()) return false;
    // The supervisor may end at any moment.
    process.send!(message, undefined, undefined, () => {});
    return true;
  }

  #tell(): void {
    const requests = this.#gathered;
    this.#gathered = [];
    if (requests.length > 0) this.#send({ oriel: 'requests', requests });
  }

  async #collect(): Promise<readonly MetricFamilies[] | null> {
    const id = this.#nextId++;
    const collected = new Promise<readonly MetricFamilies[] | null>((resolve) => {
      this.#waiting.set(id, resolve);
      setTimeout(() => resolve(null), ANSWER_MS).unref();
    });
    if (!this.#send({ oriel: 'collect', id })) return null;
    return collected.finally(() => this.#waiting.delete(id));
  }

  #receive(message: ToProcess): void {
    if (message.oriel === 'collected') this.#waiting.get(message.id)?.(message.all);
    else if (message.oriel === 'ended') this.#onEnded();
    else if (message.oriel === 'requests') {
      for (const request of message.requests) this.#metrics?.requestSeries.add(request);
    } else if (message.oriel === 'metrics') {
      const { id } = message;
      const families = this.#metrics?.getMetricsAsJSON() ?? Promise.resolve([]);
      // Without an answer the supervisor uses the one before.
      families.then(
        (metrics) => this.#send({ oriel: 'metrics', id, metrics }),
        () => {},
      );
    }
  }
}
