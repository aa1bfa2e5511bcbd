import { type Fault, type FormatValue, formatPath } from '../../schema/faults.ts';
import { WILDCARD } from '../../schema/pattern.ts';
import { listOf } from '../../schema/untrusted.ts';
import { type Path, valueAt } from '../../schema/walk.ts';
import { FIXED_REASONING, isPriced, maxOutputTokensOf } from '../catalog/catalog.ts';
import { areAmbiguous, type Wildcard, wildcardOf } from '../catalog/model-names.ts';
import { MODEL_TYPES } from '../providers/provider-kind.ts';
import { findProviderKind, isRemote, kindOf } from '../providers/provider-kinds.ts';
import { CLIENT_DIALECTS, DIALECT_NAMES, MARKED_DIALECTS } from '../settings/dialects.ts';
import { EFFORTS } from '../settings/models.ts';
import type { Config } from '../settings/schema.ts';

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** Faults of names of models: aliases that are taken, wildcards of which none is the longest match. */
function nameFaults(models: unknown, format: FormatValue): readonly Fault[] {
  const faults: Fault[] = [];
  const taken = new Map(entriesOf(models).map(([id]) => [id, ['models', id] as Path]));
  const wildcards: Wildcard[] = [];
  for (const [id, model] of entriesOf(models)) {
    const path = ['models', id];
    for (const [index, alias] of listOf(valueAt(model, ['aliases'])).entries()) {
      if (typeof alias !== 'string') continue;
      const own = [...path, 'aliases', index];
      const other = taken.get(alias);
      if (other) {
        const message = `expected a name that no model has, received ${format(alias, own)}, which is ${formatPath(other)}`;
        faults.push({ path: own, message });
      } else taken.set(alias, own);
    }
    const wildcard = wildcardOf(id);
    for (const [index, route] of listOf(valueAt(model, ['routes'])).entries()) {
      const stars = String(valueAt(route, ['model'])).split(WILDCARD).length - 1;
      if (stars === 0 || (stars === 1 && wildcard)) continue;
      const message = wildcard
        ? 'expected one * at most'
        : `there is no * in the model's identifier, ${id}, that the * could stand for`;
      faults.push({ path: [...path, 'routes', index, 'model'], message });
    }
    if (wildcard === null) continue;
    if (listOf(valueAt(model, ['aliases'])).length > 0) {
      const message = 'a model with a * in its identifier has none';
      faults.push({ path: [...path, 'aliases'], message });
    }
    const other = wildcards.find((one) => areAmbiguous(one, wildcard));
    if (other) {
      const message = `some names match it and ${formatPath(['models', other.id])}, and neither is longer: make one of them longer`;
      faults.push({ path, message });
    }
    wildcards.push(wildcard);
  }
  return faults;
}

/** Faults of tiers of prices: an order in which some could not be reached, and tiers without a price. */
function tierFaults(path: Path, value: unknown, format: FormatValue): readonly Fault[] {
  const faults: Fault[] = [];
  const tiers = listOf(valueAt(value, path));
  for (const [index, tier] of tiers.entries()) {
    const above = valueAt(tier, ['above']);
    const below = valueAt(tiers[index - 1], ['above']);
    if (typeof above === 'number' && typeof below === 'number' && above <= below) {
      const own = [...path, index, 'above'];
      const message = `expected more than the ${below} of the tier before it, received ${format(above, own)}`;
      faults.push({ path: own, message });
    }
    if (typeof above === 'number' && entriesOf(tier).length === 1) {
      const message =
        'expected a price beside above: input, cachedInput, cacheWrite, cacheWrite1h or output';
      faults.push({ path: [...path, index], message });
    }
  }
  return faults;
}

/** Faults of a route beside the settings of its model. */
function routeFaults(model: unknown, path: Path, format: FormatValue): readonly Fault[] {
  const order = valueAt(model, ['order']);
  const most = valueAt(model, ['contextWindow']);
  const fault = (name: string, isFault: (value: unknown) => unknown, expected: string) => {
    const own = [...path, name];
    const value = valueAt(model, own.slice(2));
    if (value === undefined || !isFault(value)) return [];
    return [{ path: own, message: `expected ${expected}, received ${format(value, own)}` }];
  };
  return [
    ...fault('weight', () => order, `none with order: ${order}`),
    ...fault(
      'contextWindow',
      (own) => Number(own) > Number(most),
      `at most the ${most} of the model`,
    ),
  ];
}

/**
 * Faults between settings of a file. Single settings may be invalid, which the schema reports.
 */
export function crossFaults(value: unknown, format: FormatValue): readonly Fault[] {
  const faults: Fault[] = [];
  const add = (path: Path, message: string) => void faults.push({ path, message });
  const providers = new Map(entriesOf(valueAt(value, ['providers'])));
  const used = new Set<unknown>();

  /** Rejects a value that the schema accepts, but that does not fit the other settings. */
  const expectOne = (
    path: Path,
    accepted: readonly unknown[],
    fitting: readonly unknown[],
    reason = '',
  ) => {
    const received = valueAt(value, path);
    if (!accepted.includes(received) || fitting.includes(received)) return;
    add(path, `expected one of ${fitting.join(', ')}${reason}, received ${format(received, path)}`);
  };

  faults.push(...nameFaults(valueAt(value, ['models']), format));
  for (const [id, model] of entriesOf(valueAt(value, ['models']))) {
    const type = valueAt(model, ['type']);
    for (const index of listOf(valueAt(model, ['routes'])).keys()) {
      const route = ['models', id, 'routes', index];
      const name = valueAt(value, [...route, 'provider']);
      used.add(name);
      faults.push(...routeFaults(model, route, format));
      if (typeof name !== 'string' || name === '') continue;
      if (!providers.has(name)) {
        const names = [...providers.keys()];
        const expected = names.length > 0 ? `one of ${names.join(', ')}` : 'a name under providers';
        const path = [...route, 'provider'];
        add(path, `expected ${expected}, received ${format(name, path)}`);
        continue;
      }
      const kind = String(valueAt(providers.get(name), ['kind']));
      const known = findProviderKind(kind);
      if (known === undefined) continue;
      const isTyped = MODEL_TYPES.some((one) => one === type);
      if (isTyped && !known.modelTypes.some((one) => one === type)) {
        add([...route, 'provider'], `a provider of kind ${kind} has no models of type ${type}`);
      }
      const dialects = known.dialects ?? CLIENT_DIALECTS;
      expectOne([...route, 'dialect'], DIALECT_NAMES, dialects, ` for a provider of kind ${kind}`);
      if (!known.batches) {
        expectOne([...route, 'batches'], ['provider'], ['nothing'], ` for the kind ${kind}`);
      }
      const ofModel = known.dialectOf?.(String(valueAt(value, [...route, 'model'])));
      const dialect = valueAt(value, [...route, 'dialect']) ?? ofModel ?? known.defaultDialect;
      if (dialect === null || MARKED_DIALECTS.some((one) => one === dialect)) continue;
      const reason = ` for requests in the format ${dialect}`;
      expectOne([...route, 'promptCaching'], ['auto'], ['off'], reason);
    }

    if (type !== 'text') continue;
    faults.push(...tierFaults(['models', id, 'price', 'tiers'], value, format));
    const reasoning = ['models', id, 'reasoning'];
    const efforts = listOf(valueAt(value, [...reasoning, 'supported_efforts']));
    if (efforts.length > 0) expectOne([...reasoning, 'default_effort'], EFFORTS, efforts);
    if (valueAt(model, ['rules']) !== 'fixed-reasoning') continue;
    const reason = ' with fixed-reasoning';
    for (const index of efforts.keys()) {
      expectOne(
        [...reasoning, 'supported_efforts', index],
        EFFORTS,
        FIXED_REASONING.supported_efforts,
        reason,
      );
    }
    expectOne([...reasoning, 'can_disable'], [true], [false], reason);
  }

  const buckets = valueAt(value, ['images', 'buckets']);
  if (listOf(buckets).length > 0 && valueAt(value, ['assets', 'driver']) !== 's3') {
    const message = 'expected assets with driver: s3, whose service and credentials they use';
    add(['images', 'buckets'], message);
  }

  const named = listOf(valueAt(value, ['alerts', 'webhooks']));
  const webhooks = named.map((one) => valueAt(one, ['name']));
  for (const [index, name] of webhooks.entries()) {
    const first = webhooks.indexOf(name);
    if (first === index || typeof name !== 'string') continue;
    const path = ['alerts', 'webhooks', index, 'name'];
    add(path, `expected a name that no other webhook has, received ${format(name, path)}`);
  }

  for (const [name, provider] of providers) {
    if (valueAt(provider, ['kind']) === 'azure' && valueAt(provider, ['query', 'api-version'])) {
      add(['providers', name, 'query', 'api-version'], 'set apiVersion instead');
    }
    const baseUrl = valueAt(provider, ['baseUrl']);
    if (valueAt(provider, ['kind']) === 'azure' && /\/deployments\b/.test(String(baseUrl))) {
      add(
        ['providers', name, 'baseUrl'],
        'expected the URL of the resource, without /openai/deployments and what follows',
      );
    }
    if (!used.has(name)) continue;
    const indexes = [...listOf(valueAt(provider, ['apiKeys'])).keys()];
    for (const path of [['apiKey'], ...indexes.map((index) => ['apiKeys', index])]) {
      if (valueAt(provider, path) !== '') continue;
      add(['providers', name, ...path], 'empty; leave it out if the provider requires none');
    }
  }
  return faults;
}

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
