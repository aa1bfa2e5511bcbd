import { isRemote, type Provider, type RemoteProvider } from './provider-kinds.ts';

/** Keys of a provider in the order of the configuration, each once. */
export function keysOf(provider: Provider): readonly string[] {
  if (!isRemote(provider)) return [];
  const { apiKey, apiKeys = [] } = provider;
  return [...new Set(apiKey === undefined ? apiKeys : [apiKey, ...apiKeys])];
}

const SECRETS = new WeakMap<Provider, readonly string[]>();

/** What no client and no log may see of a provider: keys, values of headers and query, the proxy's credentials. */
export function secretsOf(provider: Provider): readonly string[] {
  let secrets = SECRETS.get(provider);
  if (secrets === undefined) {
    secrets = isRemote(provider) ? [...keysOf(provider), ...otherSecrets(provider)] : [];
    SECRETS.set(provider, secrets);
  }
  return secrets;
}

/** Headers and parameters whose values are none: errors of providers quote some of them. */
const PUBLIC_NAMES = new Set([
  'accept',
  'anthropic-beta',
  'anthropic-version',
  'api-version',
  'http-referer',
  'openai-beta',
  'openai-organization',
  'openai-project',
  'user-agent',
  'x-title',
]);

function otherSecrets({ headers, query, proxy }: RemoteProvider): readonly string[] {
  const values = Object.entries({ ...headers, ...query }).flatMap(([name, value]) =>
    PUBLIC_NAMES.has(name) ? [] : [value],
  );
  return proxy === undefined ? values : [...values, decodeURIComponent(new URL(proxy).password)];
}
