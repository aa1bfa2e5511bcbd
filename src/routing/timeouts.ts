import { isRemote } from '../config/provider-kinds.ts';
import type { Config, Provider } from '../config/schema.ts';
import type { Timeouts } from '../upstream/request.ts';

type Settings = Pick<Config, 'routing' | 'providers'>;

/** Timeouts of requests to a provider: its own, and those of all providers where it has none. */
export function timeoutsOf({ routing }: Pick<Config, 'routing'>, provider: Provider): Timeouts {
  if (!isRemote(provider) || provider.timeouts === undefined) return routing.timeouts;
  return { ...routing.timeouts, ...(provider.timeouts as Partial<Timeouts>) };
}

/** Milliseconds that a request may take: the longest `total` of the providers of its routes. */
export function longestTotal(
  config: Settings,
  routes: readonly { readonly provider: string }[],
): number {
  let longest = 0;
  for (const { provider } of routes) {
    longest = Math.max(longest, timeoutsOf(config, config.providers[provider]!).total);
  }
  return longest;
}
