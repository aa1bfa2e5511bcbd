import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { PRICED_PROVIDERS } from '../providers/provider-kind.ts';
import { isRemote, kindOf, type Provider } from '../providers/provider-kinds.ts';
import { convertEntry, type MappedModel } from './map-entry.ts';
import { type MapEntry, readPriceMap } from './price-map.ts';

/** Names of providers in the catalog of prices by the host of their interface. */
const HOSTS: Readonly<Record<string, (typeof PRICED_PROVIDERS)[number]>> = {
  'api.openai.com': 'openai',
  'api.anthropic.com': 'anthropic',
  'generativelanguage.googleapis.com': 'gemini',
  'api.x.ai': 'xai',
  'api.deepseek.com': 'deepseek',
  'api.moonshot.ai': 'moonshot',
};

let entries: ReadonlyMap<string, MapEntry> | undefined;

const keyOf = (provider: string, name: string) => `${provider} ${name}`;

/** The catalog of prices that comes with the program. */
function catalog(): ReadonlyMap<string, MapEntry> {
  if (entries === undefined) {
    const file = createRequire(import.meta.url).resolve('#config/prices.json');
    const map = readPriceMap(readFileSync(file, 'utf8'), file);
    const named = map.map((entry) => {
      const { name, provider } = entry;
      const own = name.startsWith(`${provider}/`) ? name.slice(provider.length + 1) : name;
      return [keyOf(provider, own), entry] as const;
    });
    entries = new Map(named);
  }
  return entries;
}

/** The catalog's name of a provider, by its address; null for a server whose prices are not known. */
function pricedProvider(provider: Provider, model: string): string | null {
  if (!isRemote(provider)) return null;
  if (provider.kind === 'vertex') return model.startsWith('claude') ? 'anthropic' : 'gemini';
  const { hostname } = new URL(provider.baseUrl);
  if (hostname.endsWith('.openai.azure.com')) return 'openai';
  return HOSTS[hostname] ?? null;
}

export interface CatalogModel extends MappedModel {
  /** Whether the provider offers it through responses alone. */
  readonly isResponses: boolean;
}

/**
 * Type, prices and limits of a model in the catalog; null for one that it does not have.
 *
 * @param of the catalog's name of the provider, where its address does not tell
 */
export function catalogModel(
  provider: Provider,
  model: string,
  {
    of,
    creditsPerUnit = 1,
  }: { readonly of?: string | undefined; readonly creditsPerUnit?: number },
): CatalogModel | null {
  const name = of ?? pricedProvider(provider, model);
  const entry = name === null ? undefined : catalog().get(keyOf(name, model.replace('@', '-')));
  if (entry === undefined) return null;
  const converted = convertEntry(entry, creditsPerUnit, kindOf(provider).modelTypes);
  if (typeof converted === 'string' || converted.faults.length > 0) return null;
  return { ...converted.model, isResponses: entry.mode === 'responses' };
}
