import { isPriced, maxOutputTokensOf } from '../catalog/catalog.ts';
import { isRemote, kindOf } from '../providers/provider-kinds.ts';
import type { Config } from '../settings/schema.ts';

/** A version in the path of a base URL: `/v1`, `/v1beta/openai`. */
const VERSION = /\/v\d/;

/** Warnings for valid settings that are probably mistakes. */
export function warningsOf({
  providers,
  models,
  server,
  billing,
  store,
  assets,
}: Config): readonly string[] {
  const routes = Object.values(models).flatMap((model) => [...model.routes]);
  const warnings = Object.keys(providers)
    .filter((name) => !routes.some(({ provider }) => provider === name))
    .map((name) => `providers.${name}: no model has a route to it`);
  if (store.driver === 'postgres' && assets.driver === 'disk' && server.processes === 1) {
    warnings.push(
      'assets.driver: other daemons on the database cannot read files on this disk; expected s3',
    );
  }
  for (const [name, provider] of Object.entries(providers)) {
    if (!isRemote(provider) || !kindOf(provider).versionedBaseUrl) continue;
    if (VERSION.test(new URL(provider.baseUrl).pathname)) continue;
    warnings.push(`providers.${name}.baseUrl: its path names no version, as /v1 does`);
  }
  for (const [name, provider] of Object.entries(providers)) {
    if (!isRemote(provider)) continue;
    const { apiKey, apiKeys = [] } = provider;
    const keys = apiKey === undefined ? apiKeys : [apiKey, ...apiKeys];
    if (new Set(keys).size < keys.length) {
      warnings.push(`providers.${name}.apiKeys: the same key is there twice`);
    }
  }
  for (const [id, model] of Object.entries(models)) {
    if (model.type !== 'text') continue;
    const { contextWindow = Infinity, price } = model;
    for (const [index, { above }] of (price.tiers ?? []).entries()) {
      if (above < contextWindow) continue;
      warnings.push(
        `models.${id}.price.tiers[${index}].above: no request has more than the ${contextWindow} tokens of contextWindow`,
      );
    }
  }
  for (const [id, model] of Object.entries(models)) {
    if (model.type !== 'text' || !isPriced(model) || maxOutputTokensOf(model) !== null) continue;
    if (!model.routes.some(({ provider }) => isRemote(providers[provider]!))) continue;
    warnings.push(
      `models.${id}.maxOutputTokens: not set; responses end at ${billing.maxOutputTokens} tokens (billing.maxOutputTokens) unless the client sets a limit`,
    );
  }
  if (server.publicUrl === undefined && /^(0\.0\.0\.0|::)$/.test(server.host)) {
    warnings.push(
      `server.publicUrl: not set, while the server listens on ${server.host}; URLs of files will not work on other hosts`,
    );
  }
  return warnings;
}
