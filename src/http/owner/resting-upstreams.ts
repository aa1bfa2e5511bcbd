import type { Failure } from '../../failure.ts';
import type { AppContext } from '../app-context.ts';

/** The routes and keys that rest now, and why. */
export function restingUpstreams({ routings }: AppContext) {
  const reasonOf = ({ code, type }: Failure) => code ?? type;
  const timeOf = (until: number) => new Date(Date.now() + until - performance.now()).toISOString();
  return {
    routes: routings.flatMap((routing) =>
      Array.from(routing.restingRoutes(), ({ provider, model, failure, until }) => {
        return { provider, model, reason: reasonOf(failure), until: timeOf(until) };
      }),
    ),
    keys: routings.flatMap((routing) =>
      Array.from(routing.restingKeys(), ({ provider, fingerprint: key, failure, avoidedUntil }) => {
        return { provider, key, reason: reasonOf(failure), until: timeOf(avoidedUntil) };
      }),
    ),
  };
}

export type RestingUpstreams = ReturnType<typeof restingUpstreams>;
