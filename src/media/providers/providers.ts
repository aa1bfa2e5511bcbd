import { kindOf, type MediaApi } from '../../config/providers/provider-kinds.ts';
import type { Provider } from '../../config/settings/schema.ts';
import { Failure } from '../../failure.ts';
import type { MediaProvider } from '../provider/provider.ts';
import { openaiProvider } from './openai/openai.ts';
import { orielProvider } from './oriel/oriel.ts';
import { sandboxProvider } from './sandbox/sandbox.ts';

const PROVIDERS: Readonly<Record<MediaApi, MediaProvider>> = {
  openai: openaiProvider(),
  oriel: orielProvider(),
  sandbox: sandboxProvider,
};

/**
 * The media provider of a provider kind.
 *
 * @throws Failure where the kind makes no media; the configuration check rejects such routes before
 */
export function providerOf(kind: Provider['kind']): MediaProvider {
  const { mediaApi } = kindOf({ kind });
  if (mediaApi !== null) return PROVIDERS[mediaApi];
  throw new Failure('service_error', 'The provider makes no media', {
    code: 'upstream_refused',
  });
}
