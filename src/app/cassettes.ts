import { secretsOf } from '../config/providers/provider-kinds.ts';
import type { Config } from '../config/settings/schema.ts';
import { CassetteUpstream } from '../exchanges/cassettes/upstream.ts';
import { type Mask, maskOf } from '../exchanges/secrets.ts';
import { getOrInsert } from '../maps.ts';
import type { Upstream } from '../upstream/response.ts';
import type { Start } from './start.ts';

const MASKS = new WeakMap<Config['providers'], Mask>();

/** The mask of the secrets of all providers. Made once for each loaded configuration. */
function maskFor(providers: Config['providers']): Mask {
  return getOrInsert(MASKS, providers, () => maskOf(Object.values(providers).flatMap(secretsOf)));
}

/** The recordings of the configuration; null without. @throws Failure where they cannot be used */
export async function openCassettes(
  { state, log }: Pick<Start, 'state' | 'log'>,
  upstream: Upstream,
): Promise<CassetteUpstream | null> {
  const { mode, ...settings } = state.config.cassettes;
  if (mode === 'off') return null;
  return CassetteUpstream.open({
    ...settings,
    mode,
    upstream,
    mask: () => maskFor(state.config.providers),
    onFailure: (failure) => log.error({ failure }, 'a cassette could not be used'),
  });
}
