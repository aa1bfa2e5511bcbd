import { type Fault, type FormatValue, formatPath } from '../../schema/faults.ts';
import { WILDCARD } from '../../schema/pattern.ts';
import { listOf } from '../../schema/untrusted.ts';
import { type Path, valueAt } from '../../schema/walk.ts';
import { FIXED_REASONING } from '../catalog/catalog.ts';
import { areAmbiguous, type Wildcard, wildcardOf } from '../catalog/model-names.ts';
import { MODEL_TYPES } from '../providers/provider-kind.ts';
import { findProviderKind } from '../providers/provider-kinds.ts';
import { CLIENT_DIALECTS, DIALECT_NAMES, MARKED_DIALECTS } from '../settings/dialects.ts';
import { EFFORTS } from '../settings/models.ts';

/** Faults between settings of a file. Single settings may be invalid, which the schema reports. */
export function crossFaults(value: unknown, format: FormatValue): readonly Fault[] {
  const found = new Found(value, format);
  const models = entriesOf(found.at(['models']));
  const providers = new Map(entriesOf(found.at(['providers'])));
  const used = new Set<unknown>();
  checkNames(found, models);
  for (const [id, model] of models) {
    for (const index of listOf(valueAt(model, ['routes'])).keys()) {
      const route = ['models', id, 'routes', index];
      used.add(found.at([...route, 'provider']));
      checkLimits(found, route, model);
      checkProviderOf(found, route, providers, valueAt(model, ['type']));
    }
    if (valueAt(model, ['type']) !== 'text') continue;
    checkTiers(found, ['models', id, 'price', 'tiers']);
    checkReasoning(found, ['models', id]);
  }
  checkBuckets(found);
  checkWebhooks(found);
  for (const [name, provider] of providers) {
    if (valueAt(provider, ['kind']) === 'azure') checkAzure(found, ['providers', name]);
    if (used.has(name)) checkKeys(found, ['providers', name]);
  }
  return found.faults;
}

type Entries = readonly (readonly [string, unknown])[];

function entriesOf(value: unknown): Entries {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

/** The faults that were found in the settings of a file. */
class Found {
  readonly faults: Fault[] = [];
  readonly #settings: unknown;
  readonly #format: FormatValue;

  constructor(settings: unknown, format: FormatValue) {
    this.#settings = settings;
    this.#format = format;
  }

  at(path: Path): unknown {
    return valueAt(this.#settings, path);
  }

  add(path: Path, message: string): void {
    this.faults.push({ path, message });
  }

  /** Adds that a value is not what was expected. @param remark about the value */
  addValue(path: Path, expected: string, remark = ''): void {
    const received = this.#format(this.at(path), path);
    this.add(path, `expected ${expected}, received ${received}${remark}`);
  }

  /** Rejects a value that the schema accepts, but that does not fit the other settings. */
  expectOne(
    path: Path,
    accepted: readonly unknown[],
    fitting: readonly unknown[],
    reason = '',
  ): void {
    const received = this.at(path);
    if (!accepted.includes(received) || fitting.includes(received)) return;
    this.addValue(path, `one of ${fitting.join(', ')}${reason}`);
  }
}

/** Names of models: aliases that are taken, wildcards of which none is the longest match. */
function checkNames(found: Found, models: Entries): void {
  const taken = new Map(models.map(([id]) => [id, ['models', id] as Path]));
  const wildcards: Wildcard[] = [];
  for (const [id, model] of models) {
    const path = ['models', id];
    const aliases = listOf(valueAt(model, ['aliases']));
    for (const [index, alias] of aliases.entries()) {
      if (typeof alias !== 'string') continue;
      const own = [...path, 'aliases', index];
      const other = taken.get(alias);
      if (other) found.addValue(own, 'a name that no model has', `, which is ${formatPath(other)}`);
      else taken.set(alias, own);
    }
    const wildcard = wildcardOf(id);
    for (const [index, route] of listOf(valueAt(model, ['routes'])).entries()) {
      const stars = String(valueAt(route, ['model'])).split(WILDCARD).length - 1;
      if (stars === 0 || (stars === 1 && wildcard)) continue;
      const message = wildcard
        ? 'expected one * at most'
        : `there is no * in the model's identifier, ${id}, that the * could stand for`;
      found.add([...path, 'routes', index, 'model'], message);
    }
    if (wildcard === null) continue;
    if (aliases.length > 0) {
      found.add([...path, 'aliases'], 'a model with a * in its identifier has none');
    }
    const other = wildcards.find((one) => areAmbiguous(one, wildcard));
    if (other) {
      const message = `some names match it and ${formatPath(['models', other.id])}, and neither is longer: make one of them longer`;
      found.add(path, message);
    }
    wildcards.push(wildcard);
  }
}

/** The settings of a route beside those of its model. */
function checkLimits(found: Found, route: Path, model: unknown): void {
  const order = valueAt(model, ['order']);
  const weight = [...route, 'weight'];
  if (order && found.at(weight) !== undefined) found.addValue(weight, `none with order: ${order}`);
  const most = valueAt(model, ['contextWindow']);
  const window = [...route, 'contextWindow'];
  if (Number(found.at(window)) > Number(most)) {
    found.addValue(window, `at most the ${most} of the model`);
  }
}

/** The settings of a route beside its provider. */
function checkProviderOf(
  found: Found,
  route: Path,
  providers: ReadonlyMap<string, unknown>,
  type: unknown,
): void {
  const path = [...route, 'provider'];
  const name = found.at(path);
  if (typeof name !== 'string' || name === '') return;
  if (!providers.has(name)) {
    const names = [...providers.keys()];
    found.addValue(
      path,
      names.length > 0 ? `one of ${names.join(', ')}` : 'a name under providers',
    );
    return;
  }
  const kind = String(valueAt(providers.get(name), ['kind']));
  const known = findProviderKind(kind);
  if (known === undefined) return;
  const isTyped = MODEL_TYPES.some((one) => one === type);
  if (isTyped && !known.modelTypes.some((one) => one === type)) {
    found.add(path, `a provider of kind ${kind} has no models of type ${type}`);
  }
  const dialects = known.dialects ?? CLIENT_DIALECTS;
  const ofKind = ` for a provider of kind ${kind}`;
  found.expectOne([...route, 'dialect'], DIALECT_NAMES, dialects, ofKind);
  if (!known.batches) {
    found.expectOne([...route, 'batches'], ['provider'], ['nothing'], ` for the kind ${kind}`);
  }
  const ofModel = known.dialectOf?.(String(found.at([...route, 'model'])));
  const dialect = found.at([...route, 'dialect']) ?? ofModel ?? known.defaultDialect;
  if (dialect === undefined || MARKED_DIALECTS.some((one) => one === dialect)) return;
  const reason = ` for requests in the format ${dialect}`;
  found.expectOne([...route, 'promptCaching'], ['auto'], ['off'], reason);
}

/** Tiers of prices: an order in which some could not be reached, and tiers without a price. */
function checkTiers(found: Found, path: Path): void {
  const tiers = listOf(found.at(path));
  for (const [index, tier] of tiers.entries()) {
    const above = valueAt(tier, ['above']);
    const below = valueAt(tiers[index - 1], ['above']);
    if (typeof above === 'number' && typeof below === 'number' && above <= below) {
      found.addValue([...path, index, 'above'], `more than the ${below} of the tier before it`);
    }
    if (typeof above === 'number' && entriesOf(tier).length === 1) {
      const message =
        'expected a price beside above: input, cachedInput, cacheWrite, cacheWrite1h or output';
      found.add([...path, index], message);
    }
  }
}

/** Efforts of a model, and the fixed ones of its rules. */
function checkReasoning(found: Found, model: Path): void {
  const path = [...model, 'reasoning'];
  const efforts = listOf(found.at([...path, 'supported_efforts']));
  if (efforts.length > 0) found.expectOne([...path, 'default_effort'], EFFORTS, efforts);
  if (found.at([...model, 'rules']) !== 'fixed-reasoning') return;
  const reason = ' with fixed-reasoning';
  const { supported_efforts: fixed } = FIXED_REASONING;
  for (const index of efforts.keys()) {
    found.expectOne([...path, 'supported_efforts', index], EFFORTS, fixed, reason);
  }
  found.expectOne([...path, 'can_disable'], [true], [false], reason);
}

function checkBuckets(found: Found): void {
  const path = ['images', 'buckets'];
  if (listOf(found.at(path)).length === 0 || found.at(['assets', 'driver']) === 's3') return;
  found.add(path, 'expected assets with driver: s3, whose service and credentials they use');
}

function checkWebhooks(found: Found): void {
  const webhooks = listOf(found.at(['alerts', 'webhooks']));
  const names = webhooks.map((one) => valueAt(one, ['name']));
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) === index || typeof name !== 'string') continue;
    const path = ['alerts', 'webhooks', index, 'name'];
    found.addValue(path, 'a name that no other webhook has');
  }
}

function checkAzure(found: Found, provider: Path): void {
  const version = [...provider, 'query', 'api-version'];
  if (found.at(version)) found.add(version, 'set apiVersion instead');
  const baseUrl = [...provider, 'baseUrl'];
  if (/\/deployments\b/.test(String(found.at(baseUrl)))) {
    const message =
      'expected the URL of the resource, without /openai/deployments and what follows';
    found.add(baseUrl, message);
  }
}

/** Keys of a provider that is used. */
function checkKeys(found: Found, provider: Path): void {
  const indexes = [...listOf(found.at([...provider, 'apiKeys'])).keys()];
  for (const own of [['apiKey'], ...indexes.map((index) => ['apiKeys', index])]) {
    const path = [...provider, ...own];
    if (found.at(path) !== '') continue;
    found.add(path, 'empty; leave it out if the provider requires none');
  }
}
