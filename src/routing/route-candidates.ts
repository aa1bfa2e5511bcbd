import { routesOf } from '../config/catalog/catalog.ts';
import type { Model } from '../config/settings/schema.ts';
import { Failure } from '../failure.ts';

/** A provider of the catalog that serves a model. */
export interface Route {
  readonly provider: string;
  readonly model: string;
}

/** A route with the name of its circuit breaker. */
export interface RouteCandidate<RouteType extends Route> {
  readonly route: RouteType;
  readonly name: string;
}

const candidatesOfModels = new WeakMap<Model, readonly RouteCandidate<Model['routes'][number]>[]>();

/** A model's routes in the order in which they are tried, sorted once for each loaded configuration. */
export function routeCandidates<ModelType extends Model>(
  model: ModelType,
): readonly RouteCandidate<ModelType['routes'][number]>[] {
  let candidates = candidatesOfModels.get(model);
  if (!candidates) {
    candidates = routesOf<Model>(model).map((route) => ({ route, name: nameOf(route) }));
    candidatesOfModels.set(model, candidates);
  }
  return candidates;
}

/** Tasks store the name in their records, so it must not change across restarts. */
function nameOf(route: Model['routes'][number]): string {
  const { provider, model } = route;
  const dialect = 'dialect' in route && route.dialect ? [route.dialect] : [];
  return JSON.stringify([provider, model, ...dialect]);
}

/** The error for a name that matches a wildcard and that no provider knows: the client chose it. */
export function unknownToProvider(error: unknown, id: string, name: string): unknown {
  if (!(error instanceof Failure) || error.code !== 'upstream_not_found') return error;
  const message = `no provider of ${id} has a model ${JSON.stringify(name)}`;
  return new Failure('invalid_request', message, { param: 'model', code: 'model_not_found' });
}
