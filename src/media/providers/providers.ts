import { kindOf, type MediaApi } from '../../config/providers/provider-kinds.ts';
import type { Config, Provider } from '../../config/settings/schema.ts';
import { codedFailure } from '../../failure.ts';
import { ADVICE, type MediaProvider } from '../provider/provider.ts';
import type { TaskRequest } from '../task/task-request.ts';
import { openaiProvider } from './openai/openai.ts';
import { orielProvider } from './oriel/oriel.ts';
import { sandboxProvider } from './sandbox/sandbox.ts';

/** Every media provider. What it can do is on its record. */
const PROVIDERS: Readonly<Record<string, MediaProvider>> = {
  openai: openaiProvider(),
  oriel: orielProvider(),
  sandbox: sandboxProvider,
} satisfies Record<MediaApi, MediaProvider>;

/**
 * The media provider of a provider kind.
 *
 * @throws Failure where the kind makes no media; the configuration check rejects such routes before
 */
export function providerOf(kind: Provider['kind']): MediaProvider {
  const { mediaApi } = kindOf({ kind });
  const provider = mediaApi === undefined ? undefined : PROVIDERS[mediaApi];
  if (provider) return provider;
  throw codedFailure('upstream_refused', 'The provider makes no media');
}

type Providers = Config['providers'];
type NamedRoute = { readonly provider: string };

/** The options of a request that a route leaves out, by name: its output is made without them. */
export function ignoredOptions(
  request: TaskRequest,
  { provider }: NamedRoute,
  providers: Providers,
): readonly string[] {
  const settings = providers[provider];
  if (settings === undefined || request.type === 'video') return [];
  const { imageFields, audioFormats } = providerOf(settings.kind);
  if (request.type === 'audio') {
    const { format } = request;
    return format === null || (audioFormats?.includes(format) ?? true) ? [] : ['format'];
  }
  const { options = {}, quality } = request;
  const names = [...(quality === 'hd' ? ['quality'] : []), ...Object.keys(options)];
  return names.filter((name) => imageFields?.includes(name) === false);
}

/** The advice of a request that a route leaves out, by name. */
export function ignoredAdvice(
  request: TaskRequest,
  { provider }: NamedRoute,
  providers: Providers,
): readonly string[] {
  const settings = providers[provider];
  if (settings === undefined) return [];
  const used = providerOf(settings.kind).advice[request.type];
  return ADVICE.filter((name) => request[name] !== null && !used.includes(name));
}
