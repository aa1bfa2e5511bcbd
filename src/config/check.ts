import type { Fault, FormatValue } from '../schema/faults.ts';
import { type Path, valueAt } from '../schema/walk.ts';
import { isPriced, maxOutputTokensOf } from './catalog.ts';
import { DIALECT_NAMES } from './dialects.ts';
import { EFFORTS } from './models.ts';
import { findProviderKind, isRemote, MODEL_TYPES } from './provider-kinds.ts';
import type { Config } from './schema.ts';

/** How much models with fixed reasoning can be asked to reason (interface part 4.1, rule 1). */
const FIXED_EFFORTS: readonly unknown[] = ['low', 'high', 'max'];

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/**
 * Finds faults between parts of a configuration as its file has them. Parts may be malformed, which
 * `checkAll` reports.
 */
export function crossFaults(value: unknown, show: FormatValue): readonly Fault[] {
  const faults: Fault[] = [];
  const providers = new Map(entriesOf(valueAt(value, ['providers'])));
  const used = new Set<unknown>();

  /** Refuses a name that is valid elsewhere and not here. */
  const expectOne = (path: Path, kind: readonly unknown[], fit: readonly unknown[], why = '') => {
    const came = valueAt(value, path);
    if (!kind.includes(came) || fit.includes(came)) return;
    const message = `expected one of ${fit.join(', ')}${why}, received ${show(came, path)}`;
    faults.push({ path, message });
  };

  for (const [id, model] of entriesOf(valueAt(value, ['models']))) {
    const type = valueAt(model, ['type']);
    for (const index of listOf(valueAt(model, ['routes'])).keys()) {
      const route = ['models', id, 'routes', index];
      const name = valueAt(value, [...route, 'provider']);
      used.add(name);
      if (typeof name !== 'string' || name === '') continue;
      if (!providers.has(name)) {
        const names = [...providers.keys()];
        const expected = names.length > 0 ? `one of ${names.join(', ')}` : 'a name under providers';
        const path = [...route, 'provider'];
        faults.push({ path, message: `expected ${expected}, received ${show(name, path)}` });
        continue;
      }
      const kind = String(valueAt(providers.get(name), ['kind']));
      const known = findProviderKind(kind);
      if (known === undefined) continue;
      const isTyped = MODEL_TYPES.some((one) => one === type);
      if (isTyped && !known.modelTypes.some((one) => one === type)) {
        const message = `a provider of kind ${kind} has no models of type ${type}`;
        faults.push({ path: [...route, 'provider'], message });
      }
      const dialects = known.dialects ?? DIALECT_NAMES;
      expectOne([...route, 'dialect'], DIALECT_NAMES, dialects, ` for a provider of kind ${kind}`);
    }

    if (type !== 'text') continue;
    const reasoning = ['models', id, 'reasoning'];
    const efforts = listOf(valueAt(value, [...reasoning, 'supported_efforts']));
    if (efforts.length > 0) expectOne([...reasoning, 'default_effort'], EFFORTS, efforts);
    if (valueAt(model, ['rules']) !== 'fixed-reasoning') continue;
    const why = ' with fixed-reasoning';
    for (const index of efforts.keys()) {
      expectOne([...reasoning, 'supported_efforts', index], EFFORTS, FIXED_EFFORTS, why);
    }
    expectOne([...reasoning, 'can_disable'], [true], [false], why);
  }

  for (const [name, provider] of providers) {
    if (!used.has(name) || valueAt(provider, ['apiKey']) !== '') continue;
    const message = 'empty; leave it out where the provider asks for none';
    faults.push({ path: ['providers', name, 'apiKey'], message });
  }
  return faults;
}

/** A version in the path of an interface: `/v1`, `/v1beta/openai`. */
const VERSION = /\/v\d/;

/** Warnings about settings that are valid and probably not intended. */
export function warningsOf({ providers, models, server, billing }: Config): readonly string[] {
  const routes = Object.values(models).flatMap((model) => [...model.routes]);
  const warnings = Object.keys(providers)
    .filter((name) => !routes.some(({ provider }) => provider === name))
    .map((name) => `providers.${name}: no model has a route to it`);
  for (const [name, provider] of Object.entries(providers)) {
    if (!isRemote(provider) || VERSION.test(new URL(provider.baseUrl).pathname)) continue;
    warnings.push(`providers.${name}.baseUrl: its path names no version, as /v1 does`);
  }
  for (const [id, model] of Object.entries(models)) {
    if (model.type !== 'text' || !isPriced(model) || maxOutputTokensOf(model) !== null) continue;
    if (!model.routes.some(({ provider }) => isRemote(providers[provider]!))) continue;
    warnings.push(
      `models.${id}.maxOutputTokens: not set; answers end at ${billing.maxOutputTokens} tokens (billing.maxOutputTokens) unless the client sets a limit`,
    );
  }
  if (server.publicUrl === undefined && /^(0\.0\.0\.0|::)$/.test(server.host)) {
    warnings.push(
      `server.publicUrl: not set, while the server listens on ${server.host}; addresses of files will not work elsewhere`,
    );
  }
  return warnings;
}
