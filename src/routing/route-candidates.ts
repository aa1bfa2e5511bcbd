import { routesOf } from '../config/catalog/catalog.ts';
import { upstreamModelOf } from '../config/catalog/model-names.ts';
import type { Model } from '../config/settings/schema.ts';
import { codedFailure, Failure } from '../failure.ts';
import { getOrInsert } from '../maps.ts';

/** A provider of the catalog that serves a model. */
export interface Route {
  readonly provider: string;
  readonly model: string;
}

/** A route with the name of its circuit breaker. */
export interface RouteCandidate<RouteType extends Route> {
  readonly route: RouteType;
  readonly name: string;
  /** The provider's name of the model, where that of the route has a wildcard. */
  readonly model?: string;
}

const candidatesOfModels = new WeakMap<Model, readonly RouteCandidate<Model['routes'][number]>[]>();

/**
 * A model's routes in the order in which they are tried, sorted once for each loaded configuration.
 *
 * @param part what the wildcard of the model's identifier stands for. Each name has circuits and cooldowns of its own,
 *   because limits and failures differ by model; null for those of the identifier
 */
export function routeCandidates<ModelType extends Model>(
  model: ModelType,
  part: string | null = null,
): readonly RouteCandidate<ModelType['routes'][number]>[] {
  const candidates = getOrInsert(candidatesOfModels, model, () =>
    routesOf<Model>(model).map((route) => ({ route, name: nameOf(route) })),
  );
  if (part === null) return candidates;
  return candidates.map(({ route }) => {
    const named = { ...route, model: upstreamModelOf(route, part) };
    return { route, name: nameOf(named), model: named.model };
  });
}

/** Tasks store the name in their records, so it must not change across restarts. */
function nameOf(route: Model['routes'][number]): string {
  const { provider, model } = route;
  const dialect = 'dialect' in route && route.dialect ? [route.dialect] : [];
  return JSON.stringify([provider, model, ...dialect]);
}

/** The provider and its name of the model. */
export function sentTo({ route, model = route.model }: RouteCandidate<Route>): Route {
  return { provider: route.provider, model };
}

/** The error for a name that matches a wildcard and that no provider knows: the client chose it. */
export function unknownToProvider(error: unknown, id: string, name: string): unknown {
  if (!(error instanceof Failure) || error.code !== 'upstream_not_found') return error;
  const message = `no provider of ${id} has a model ${JSON.stringify(name)}`;
  return codedFailure('model_not_found', message, { param: 'model' });
}
