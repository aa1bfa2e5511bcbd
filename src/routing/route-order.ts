import { hash } from 'node:crypto';
import type { Model } from '../config/settings/schema.ts';
import { type RouteCandidate, routeCandidates } from './route-candidates.ts';

type Candidate<ModelType extends Model = Model> = RouteCandidate<ModelType['routes'][number]>;

/** Returns numbers from 0 (included) to 1 (excluded), as `Math.random` does. */
export type Random = () => number;

/** Median of a route's latency in milliseconds; null while it is unknown. */
type LatencyOf = (name: string) => number | null;

/** Share of requests that begin at any route, so that the latency of slow routes stays known. */
const EXPLORED_SHARE = 0.1;

/** Routes up to this many times as slow as the fastest share its requests. */
const FAST_FACTOR = 1.2;

/** Whether requests for a model begin at different routes. */
export function isSpread(model: Model): boolean {
  const routes: readonly Model['routes'][number][] = model.routes;
  if (routes.length < 2) return false;
  return isMeasured(model) || routes.some(({ weight }) => weight !== undefined);
}

function isMeasured(model: Model): boolean {
  return 'order' in model && model.order === 'latency';
}

/**
 * A model's routes in the order in which one request tries them: by priority, then by weight or latency.
 *
 * @param part as `routeCandidates` has it
 */
export function orderRoutes<ModelType extends Model>(
  model: ModelType,
  random: Random,
  latencyOf: LatencyOf = () => null,
  part: string | null = null,
): readonly Candidate<ModelType>[] {
  const candidates = routeCandidates(model, part);
  if (!isSpread(model)) return candidates;
  const priorities = new Set(candidates.map(({ route }) => route.priority));
  return [...priorities].flatMap((priority) => {
    const group = candidates.filter(({ route }) => route.priority === priority);
    return isMeasured(model) ? byLatency(group, random, latencyOf) : byWeight(group, random);
  });
}

/** Efraimidis and Spirakis (2006): each place is drawn from the routes that are left, by their weights. */
function byWeight<One extends Candidate>(group: readonly One[], random: Random): readonly One[] {
  if (group.every(({ route }) => route.weight === undefined)) return group;
  const drawn = () => -Math.log(Math.max(random(), Number.MIN_VALUE));
  return group
    .map((one) => ({ one, place: drawn() / (one.route.weight ?? 1) }))
    .sort((a, b) => (a.place === b.place ? 0 : a.place - b.place))
    .map(({ one }) => one);
}

function byLatency<One extends Candidate>(
  group: readonly One[],
  random: Random,
  latencyOf: LatencyOf,
): readonly One[] {
  const measured = group.map((one) => ({ one, milliseconds: latencyOf(one.name) }));
  const known = measured.flatMap(({ milliseconds }) => milliseconds ?? []);
  const limit = Math.min(...known) * FAST_FACTOR;
  const fast = measured.filter(
    ({ milliseconds }) => milliseconds === null || milliseconds <= limit,
  );
  const drawn = random() < EXPLORED_SHARE ? measured : fast;
  const first = drawn[Math.floor(random() * drawn.length)]!;
  const others = measured
    .filter((other) => other !== first)
    .sort((a, b) => (a.milliseconds ?? 0) - (b.milliseconds ?? 0));
  return [first, ...others].map(({ one }) => one);
}

/** Numbers that are always the same for a text. */
export function seededRandom(seed: string): Random {
  let count = 0;
  return () => {
    count += 1;
    return Number.parseInt(hash('sha256', `${seed} ${count}`).slice(0, 8), 16) / 2 ** 32;
  };
}

/** Latencies of each route that are remembered. */
const MAX_SAMPLES = 32;

/** Routes whose latencies are remembered, the newest ones: clients choose a part of a wildcard's names. */
const MAX_ROUTES = 10_000;

/** Age at which a latency says nothing any more. */
const MAX_AGE_MS = 600_000;

/** Rolling latencies of routes: to the first frame of a stream, or of a whole answer. */
export class Latencies {
  readonly #samples = new Map<string, { readonly milliseconds: number; readonly at: number }[]>();
  readonly #now: () => number;

  /** @param now milliseconds of a monotonic clock */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add(name: string, milliseconds: number): void {
    const samples = this.#samples.get(name) ?? [];
    samples.push({ milliseconds, at: this.#now() });
    if (samples.length > MAX_SAMPLES) samples.shift();
    this.#samples.set(name, samples);
    if (this.#samples.size > MAX_ROUTES) this.#samples.delete(this.#samples.keys().next().value!);
  }

  /** The median in milliseconds; null without recent answers. */
  median(name: string): number | null {
    const since = this.#now() - MAX_AGE_MS;
    const recent = (this.#samples.get(name) ?? []).filter(({ at }) => at > since);
    const sorted = recent.map(({ milliseconds }) => milliseconds).sort((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  }
}
