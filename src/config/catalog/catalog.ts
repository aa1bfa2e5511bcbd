import { codedFailure, type Failure } from '../../failure.ts';
import { OUTPUT_SIZES } from '../../images/sizes.ts';
import { WILDCARD } from '../../schema/pattern.ts';
import { toCredits } from '../../store/credits.ts';
import { parseSize } from '../fields/units.ts';
import { TEXT_ENDPOINTS } from '../settings/dialects.ts';
import { DEFAULT_CACHE_SIZE } from '../settings/models.ts';
import type { Config, Model } from '../settings/schema.ts';
import { entryNamed, isAllowed, isUnavailable, type NamedEntry } from './model-names.ts';
import type { PublishedModel } from './published-model.ts';

type Catalog = Pick<Config, 'models'>;
export type TextModel = Extract<Model, { readonly type: 'text' }>;
export type TextRoute = TextModel['routes'][number];

/** Models that a key may use, by identifiers, aliases and patterns; null for all. */
type NamePatterns = readonly string[] | null;

/** Reasoning of a model: a model that does not reason supports no effort. */
type Reasoning = PublishedModel['capability_metadata']['reasoning'];

const ENDPOINTS: Readonly<Record<Model['type'], readonly string[]>> = {
  text: TEXT_ENDPOINTS,
  embedding: ['/v1/embeddings', '/v1beta/models/:model:embedContent'],
  rerank: ['/v1/rerank'],
  image: [
    '/v1/images/generations',
    '/v1/images/generations/sync',
    '/v1/images/edits',
    '/v1/images/variations',
  ],
  video: ['/v1/videos/generations', '/v1/videos'],
  audio: ['/v1/audio/generations', '/v1/audio/speech'],
  transcription: ['/v1/audio/transcriptions', '/v1/audio/translations'],
  moderation: ['/v1/moderations'],
};

const NO_REASONING: Reasoning = { supported_efforts: [], default_effort: null, can_disable: false };

/** Reasoning of models with fixed reasoning, which cannot be turned off. */
export const FIXED_REASONING: Reasoning = {
  supported_efforts: ['low', 'high', 'max'],
  default_effort: 'high',
  can_disable: false,
};
/** Tokens of the largest response of models with fixed reasoning. */
const FIXED_OUTPUT_TOKENS = 1_048_576;
/** Output limit of models with fixed reasoning if the client sets none. */
const FIXED_DEFAULT_OUTPUT_TOKENS = 131_072;

/** Most images of one request. Only models of native sizes take `n`. */
const MAX_IMAGES = { native: 10, other: 1 } as const;

const NATIVE_SIZES = OUTPUT_SIZES.map(({ width, height }) => `${width}x${height}`);

/** Reasoning of a model, from its configuration or else from its rules. */
export function reasoningOf(model: Model): Reasoning {
  if (model.type !== 'text') return NO_REASONING;
  return model.reasoning ?? (model.rules === 'fixed-reasoning' ? FIXED_REASONING : NO_REASONING);
}

/** Output limit of a model, from its configuration or else from its rules; null if neither sets one. */
export function maxOutputTokensOf({ maxOutputTokens, rules }: TextModel): number | null {
  return maxOutputTokens ?? (rules === 'fixed-reasoning' ? FIXED_OUTPUT_TOKENS : null);
}

/** Output limit of a model if the client sets none; null if only the provider knows it. */
export function defaultOutputTokensOf(model: TextModel): number | null {
  const most = maxOutputTokensOf(model);
  if (most === null || model.rules !== 'fixed-reasoning') return most;
  return Math.min(most, FIXED_DEFAULT_OUTPUT_TOKENS);
}

/** Bytes that cached answers of each model may have. */
export function cacheSizesOf({ models }: Config): ReadonlyMap<string, number> {
  const sizeOf = (model: object) =>
    (model as Pick<TextModel, 'cache'>).cache?.maxSize ?? parseSize(DEFAULT_CACHE_SIZE)!;
  return new Map(Object.entries(models).map(([id, model]) => [id, sizeOf(model)]));
}

/** Prices of a text model and their names in the catalog. */
const PRICES = [
  ['input', 'input_per_million_tokens'],
  ['cachedInput', 'cached_input_per_million_tokens'],
  ['cacheWrite', 'cache_write_per_million_tokens'],
  ['cacheWrite1h', 'cache_write_1h_per_million_tokens'],
  ['output', 'output_per_million_tokens'],
  ['cacheHit', 'cache_hit_per_million_tokens'],
] as const;

type Prices = { readonly [Name in (typeof PRICES)[number][0]]?: number | undefined };

/** Whether a request for a model can cost anything. */
export function isPriced({ price }: TextModel): boolean {
  return hasPrice(price) || (price.tiers?.some(hasPrice) ?? false);
}

const hasPrice = (price: Prices): boolean => PRICES.some(([name]) => (price[name] ?? 0) > 0);

/** The prices that are set, in credits. */
function creditsOf(price: Prices): Readonly<Record<string, number>> {
  const set = PRICES.flatMap(([name, title]) => {
    const micro = price[name];
    return micro === undefined ? [] : [[title, toCredits(micro)] as const];
  });
  return Object.fromEntries(set);
}

function pricingOf({ type, price }: Model): Readonly<Record<string, number>> {
  switch (type) {
    case 'text':
      return creditsOf({ ...price, cachedInput: price.cachedInput ?? price.input });
    case 'embedding':
      return creditsOf(price);
    case 'rerank':
      return { ...creditsOf(price), per_search: toCredits(price.perSearch) };
    case 'image':
      return { per_image: toCredits(price.perImage) };
    case 'video':
      return { per_video: toCredits(price.perVideo), per_second: toCredits(price.perSecond) };
    case 'audio':
    case 'transcription':
    case 'moderation':
      return { per_request: toCredits(price.perRequest) };
  }
}

function tiersOf({ type, price }: Model): PublishedModel['pricing_tiers'] {
  if (type !== 'text') return [];
  return (price.tiers ?? []).map((tier) => ({ above: tier.above, ...creditsOf(tier) }));
}

function limitsOf(model: Model): Readonly<Record<string, number | null>> {
  if (model.type === 'image') {
    return { max_images: model.rules === 'native-size' ? MAX_IMAGES.native : MAX_IMAGES.other };
  }
  if (model.type === 'video') return { default_duration: model.duration };
  if (model.type === 'embedding') {
    return { context_window: model.contextWindow ?? null, dimensions: model.dimensions ?? null };
  }
  if (model.type === 'rerank') return { context_window: model.contextWindow ?? null };
  if (model.type !== 'text') return {};
  return {
    context_window: model.contextWindow ?? null,
    max_output_tokens: maxOutputTokensOf(model),
  };
}

function publish(name: string, root: string, model: Model): PublishedModel {
  return {
    id: name,
    object: 'model',
    root,
    aliases: model.aliases ?? [],
    created: model.created ?? 0,
    owned_by: model.ownedBy,
    type: model.type,
    name: model.name ?? name,
    description: model.description ?? null,
    endpoints: ENDPOINTS[model.type],
    pricing: pricingOf(model),
    pricing_tiers: tiersOf(model),
    limits: limitsOf(model),
    sizes: model.type === 'image' && model.rules === 'native-size' ? NATIVE_SIZES : null,
    capability_metadata: { reasoning: reasoningOf(model) },
  };
}

/**
 * The list of the models that a key may use: an entry for each model, with its wildcard if it has one,
 * and one for each name or pattern by which the key may use a part of a wildcard.
 */
export function publishModels({ models }: Catalog, allowed: NamePatterns) {
  const data = Object.entries(models)
    .filter(([id]) => isAllowed(models, { id, part: null }, id, allowed))
    .map(([id, model]) => publish(id, id, model));
  const listed = new Set(data.map(({ id }) => id));
  for (const name of allowed ?? []) {
    const entry = entryNamed(models, name);
    if (entry === null || entry.part === null || listed.has(entry.id)) continue;
    data.push(publish(name, entry.id, models[entry.id]!));
  }
  return { object: 'list', data } as const;
}

function notFound(id: string): Failure {
  return codedFailure('model_not_found', `there is no model ${JSON.stringify(id)}`, {
    param: 'model',
  });
}

function unavailable(id: string): Failure {
  const message = `the model ${JSON.stringify(id)} is unavailable: the settings of its provider are at fault; oriel models list shows the reason to the operator`;
  return codedFailure('model_unavailable', message, { param: 'model' });
}

/** The entry of a name that requests may use, or of an identifier with a wildcard, which they may not. */
function publishedEntry(models: Catalog['models'], name: string): NamedEntry | null {
  const isWildcard = name.includes(WILDCARD) && Object.hasOwn(models, name);
  return isWildcard ? { id: name, part: null } : entryNamed(models, name);
}

/**
 * One entry of the catalog.
 *
 * @throws Failure 404 `model_not_found`, also for a model that the key's list does not include
 */
export function publishModel(
  { models }: Catalog,
  name: string,
  allowed: NamePatterns,
): PublishedModel {
  const entry = publishedEntry(models, name);
  if (entry === null || !isAllowed(models, entry, name, allowed)) throw notFound(name);
  return publish(name, entry.id, models[entry.id]!);
}

/** A model that a requested name stands for. */
export interface FoundModel extends NamedEntry {
  readonly model: Model;
}

/**
 * The model of a request. Records, metrics and logs have its identifier, since clients choose the names
 * that a wildcard matches.
 *
 * @throws Failure 404 `model_not_found`; 403 `model_not_allowed` if the key's list does not include it
 */
export function findModel({ models }: Catalog, name: string, allowed: NamePatterns): FoundModel {
  const entry = entryNamed(models, name);
  const isListed =
    entry === null
      ? allowed === null || allowed.includes(name)
      : isAllowed(models, entry, name, allowed);
  if (!isListed) {
    throw codedFailure(
      'model_not_allowed',
      `this key may not use the model ${JSON.stringify(name)}`,
      { param: 'model' },
    );
  }
  const model = entry === null ? undefined : models[entry.id];
  if (entry === null || model === undefined) {
    throw isUnavailable(models, name) ? unavailable(name) : notFound(name);
  }
  // A spread took 1 % of the CPU of a text request.
  return { id: entry.id, part: entry.part, model };
}

/** The first model of a type that a key may use and that has a name, not a wildcard. */
export function firstModelOf(
  { models }: Catalog,
  type: Model['type'],
  allowed: NamePatterns,
): string | null {
  const found = Object.entries(models).find(
    ([id, model]) =>
      model.type === type &&
      !id.includes(WILDCARD) &&
      isAllowed(models, { id, part: null }, id, allowed),
  );
  return found?.[0] ?? null;
}

/** A model's routes: the highest priority first, then the cheapest with `order: cost`, then as written. */
export function routesOf<Routed extends Model>(model: Routed): readonly Routed['routes'][number][] {
  const routes: readonly Routed['routes'][number][] = model.routes;
  const isByCost = 'order' in model && model.order === 'cost';
  const costOf = isByCost ? relativeCostOf : () => 0;
  return routes.toSorted((a, b) => b.priority - a.priority || costOf(a) - costOf(b));
}

/** Prompts are several times as long as answers. Routes without a cost come last. */
function relativeCostOf(route: Model['routes'][number]): number {
  const cost = 'cost' in route ? route.cost : undefined;
  return cost === undefined ? Number.MAX_VALUE : 3 * cost.input + cost.output;
}
