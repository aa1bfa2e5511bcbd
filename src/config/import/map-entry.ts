import { formatValue } from '../../schema/faults.ts';
import { isObject } from '../../schema/untrusted.ts';
import { toCredits } from '../../store/credits.ts';
import type { ModelType } from '../providers/provider-kind.ts';
import type { MapEntry } from './price-map.ts';

type Prices = Readonly<Record<string, number>>;

/** The settings of a model that a price map has. */
export interface MappedModel {
  readonly type: ModelType;
  /** Credits, of `tiers` lists of them. */
  readonly price: Readonly<Record<string, number | readonly Prices[]>>;
  readonly maxOutputTokens?: number;
  readonly contextWindow?: number;
  readonly dimensions?: number;
  readonly reasoning?: object;
}

/** Costs of text in units of the map's currency for one token, by the setting of the price. */
const TOKEN_COSTS = {
  input: 'input_cost_per_token',
  cachedInput: 'cache_read_input_token_cost',
  cacheWrite: 'cache_creation_input_token_cost',
  cacheWrite1h: 'cache_creation_input_token_cost_above_1hr',
  output: 'output_cost_per_token',
} as const;

const TOKENS = 1_000_000;

/** Name of a cost for requests with more input: `input_cost_per_token_above_200k_tokens`. */
const TIER = /^(.+)_above_(\d{1,6})k_tokens$/;

/** A list of costs by ranges of input. */
const RANGES = 'tiered_pricing';

/** The highest price of a setting, in micro-credits. */
const MAX_PRICE = 1e15;

/** Reads the numbers of one entry, and collects the faults of those that are none. */
class EntryReader {
  readonly faults: string[] = [];
  /** Names of the costs that were read. */
  readonly read = new Set<string>();
  readonly entry: MapEntry;
  readonly #creditsPerUnit: number;

  constructor(entry: MapEntry, creditsPerUnit: number) {
    this.entry = entry;
    this.#creditsPerUnit = creditsPerUnit;
  }

  fault(name: string, expected: string, value: unknown): void {
    const quoted = JSON.stringify(this.entry.name);
    this.faults.push(`${quoted}.${name}: expected ${expected}, received ${formatValue(value, [])}`);
  }

  count(name: string): number | null {
    const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
    const value = this.entry.value[name];
    return this.#number(value, name, 'an integer of at least 0', isCount) || null;
  }

  /** @param units of the map that a price is for, such as a million tokens */
  credits(name: string, units: number, value: unknown = this.entry.value[name], path = name) {
    this.read.add(name);
    const factor = this.#creditsPerUnit * units * 1e6;
    const expected = `a number of at least 0${units === TOKENS ? ' for one token' : ''}`;
    const isCost = (cost: number) => cost >= 0 && cost * factor <= MAX_PRICE;
    const cost = this.#number(value, path, expected, isCost);
    // Rounded before it is rounded up: 1.1e-6 × 1e12 is not 1,100,000 in binary fractions.
    return cost === null ? null : toCredits(Math.ceil(Number((cost * factor).toPrecision(12))));
  }

  /** The prices of text in an object. @param nameOf name of a cost in it */
  tokenPrices(
    values: Readonly<Record<string, unknown>>,
    nameOf: (name: string) => string = (name) => name,
    place = '',
  ): Prices {
    const prices = Object.entries(TOKEN_COSTS).flatMap(([setting, cost]) => {
      const name = nameOf(cost);
      const credits = this.credits(name, TOKENS, values[name], place + name);
      return credits === null ? [] : [[setting, credits] as const];
    });
    return Object.fromEntries(prices);
  }

  get costs(): string[] {
    return Object.keys(this.entry.value).filter((name) => /cost|pricing/.test(name));
  }

  /** Costs above zero that were not read. */
  get others(): string[] {
    const { value } = this.entry;
    return this.costs.filter((name) => !this.read.has(name) && isCost(value[name]));
  }

  #number(
    value: unknown,
    path: string,
    expected: string,
    accepts: (value: number) => boolean,
  ): number | null {
    if (value === undefined || value === null) return null;
    // Some entries write numbers as texts: "1e-06".
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number === 'number' && accepts(number)) return number;
    this.fault(path, expected, value);
    return null;
  }
}

function isCost(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || Number(value) > 0;
}

/** Settings of a model, or the reason why an entry has none. */
type ModelOrReason = MappedModel | string;

/** Prices of text with tiers, from ranges or from costs with `_above_` in their names. */
function tieredPrices(reader: EntryReader): MappedModel['price'] {
  const { value } = reader.entry;
  const ranges = value[RANGES] ?? null;
  if (ranges !== null) return pricesOfRanges(reader, ranges);
  const bounds = new Set<number>();
  for (const name of Object.keys(value)) {
    const [, cost, thousands] = TIER.exec(name) ?? [];
    if (Object.values<string>(TOKEN_COSTS).includes(cost ?? '')) bounds.add(Number(thousands));
  }
  const tiers = [...bounds]
    .sort((one, other) => one - other)
    .map((thousands) => ({
      above: thousands * 1000,
      ...reader.tokenPrices(value, (name) => `${name}_above_${thousands}k_tokens`),
    }))
    .filter((tier) => tier.above > 0 && Object.keys(tier).length > 1);
  return { ...reader.tokenPrices(value), ...(tiers.length > 0 && { tiers }) };
}

function pricesOfRanges(reader: EntryReader, ranges: unknown): MappedModel['price'] {
  reader.read.add(RANGES);
  const [first = {}, ...tiers]: readonly Prices[] = (Array.isArray(ranges) ? ranges : [ranges]).map(
    (one: unknown, index) => {
      const path = `${RANGES}[${index}]`;
      const bound =
        isObject(one) && Array.isArray(one['range']) ? (one['range'][0] as unknown) : null;
      if (!isObject(one) || !Number.isSafeInteger(bound)) {
        reader.fault(path, 'costs with a range of tokens', one);
        return {};
      }
      return { above: bound as number, ...reader.tokenPrices(one, undefined, `${path}.`) };
    },
  );
  const bounds = [first, ...tiers].map(({ above }) => above ?? NaN);
  const isAscending = bounds.every((bound, index) =>
    index === 0 ? bound === 0 : bound > bounds[index - 1]!,
  );
  if (!isAscending && reader.faults.length === 0) {
    reader.fault(RANGES, 'ranges from 0 on, the smallest first', ranges);
  }
  const { above: _, ...base } = first;
  return { ...base, ...(tiers.length > 0 && { tiers }) };
}

function textOf(reader: EntryReader): ModelOrReason {
  const price = tieredPrices(reader);
  for (const setting of ['input', 'output'] as const) {
    if (price[setting] === undefined) return `no ${TOKEN_COSTS[setting]}`;
  }
  const maxOutputTokens = reader.count('max_output_tokens') ?? reader.count('max_tokens');
  const contextWindow = reader.count('max_input_tokens');
  return {
    type: 'text',
    price,
    ...(maxOutputTokens !== null && { maxOutputTokens }),
    ...(contextWindow !== null && { contextWindow }),
    ...reasoningOf(reader.entry),
  };
}

function embeddingOf(reader: EntryReader): ModelOrReason {
  const input = reader.credits(TOKEN_COSTS.input, TOKENS);
  if (input === null) return `no ${TOKEN_COSTS.input}`;
  const contextWindow = reader.count('max_input_tokens');
  const dimensions = reader.count('output_vector_size');
  return {
    type: 'embedding',
    price: { input },
    ...(dimensions !== null && dimensions <= 65_536 && { dimensions }),
    ...(contextWindow !== null && { contextWindow }),
  };
}

/** Names of entries for one size or quality: `1024-x-1024/dall-e-2`, `hd/1024-x-1792/dall-e-3`. */
const ONE_SIZE = /(?:^|\/)(?:low|medium|high|standard|hd|auto|\d+-x-\d+)\//;

function imageOf(reader: EntryReader): ModelOrReason {
  if (ONE_SIZE.test(reader.entry.name)) return 'a price for one size or quality';
  const made = reader.credits('output_cost_per_image', 1);
  const perImage = made ?? reader.credits('input_cost_per_image', 1);
  return perImage === null ? 'no output_cost_per_image' : { type: 'image', price: { perImage } };
}

function videoOf(reader: EntryReader): ModelOrReason {
  const ofVideo = reader.credits('output_cost_per_video_per_second', 1);
  const perSecond = ofVideo ?? reader.credits('output_cost_per_second', 1);
  if (perSecond === null) return 'no output_cost_per_video_per_second';
  return { type: 'video', price: { perSecond } };
}

/** Types with a price for a request are imported where they are free: costs of the map are for tokens, seconds or texts. */
const freeOf =
  (type: 'audio' | 'transcription' | 'moderation') =>
  ({ costs, entry, others: [cost] }: EntryReader): ModelOrReason => {
    if (cost !== undefined) return `mode ${entry.mode}, priced by ${cost}`;
    return costs.length === 0 ? 'no cost' : { type, price: { perRequest: 0 } };
  };

/** Conversions by the mode of an entry. */
const MODES: Readonly<Record<string, (reader: EntryReader) => ModelOrReason>> = {
  chat: textOf,
  responses: textOf,
  embedding: embeddingOf,
  image_generation: imageOf,
  video_generation: videoOf,
  audio_speech: freeOf('audio'),
  audio_transcription: freeOf('transcription'),
  moderation: freeOf('moderation'),
};

/**
 * Converts an entry of a price map to settings of a model.
 *
 * @param creditsPerUnit credits for one unit of the map's currency
 * @param types those that models of the provider may have
 * @returns the reason why it is no model of the configuration, or its settings
 */
export function convertEntry(entry: MapEntry, creditsPerUnit: number, types: readonly ModelType[]) {
  const { mode } = entry;
  const convert = Object.hasOwn(MODES, mode) ? MODES[mode] : undefined;
  if (convert === undefined) return mode === '' ? 'no mode' : `mode ${mode}`;
  const reader = new EntryReader(entry, creditsPerUnit);
  const model = convert(reader);
  if (reader.faults.length > 0) {
    return { model: { type: 'text', price: {} } as MappedModel, notes: [], faults: reader.faults };
  }
  if (typeof model === 'string') return model;
  if (!types.includes(model.type)) return `mode ${mode}, which the provider has no models of`;
  const { others } = reader;
  const isFree = Object.values(model.price).every((price) => price === 0);
  if (isFree && others.length > 0) return `a price by ${others.join(', ')} alone`;
  const notes = [
    ...(others.length > 0 ? [`not imported: ${others.join(', ')}`] : []),
    ...(isFree ? ['free'] : []),
  ];
  return { model, notes, faults: [] };
}

function reasoningOf({ provider, value }: MapEntry): Pick<MappedModel, 'reasoning'> {
  if (value['supports_reasoning'] !== true) return {};
  const can = (effort: string) => value[`supports_${effort}_reasoning_effort`] === true;
  // Anthropic's models reason only where a request enables it.
  const canDisable = provider === 'anthropic' || can('none');
  return {
    reasoning: {
      supported_efforts: [
        ...(canDisable ? ['none'] : []),
        ...(can('minimal') ? ['minimal'] : []),
        ...['low', 'medium', 'high'],
        ...['xhigh', 'max'].filter(can),
      ],
      default_effort: 'medium',
      can_disable: canDisable,
    },
  };
}
