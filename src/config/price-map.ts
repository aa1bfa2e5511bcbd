import { formatValue } from '../schema/faults.ts';
import { isObject } from '../schema/untrusted.ts';
import { toCredits } from '../store/credits.ts';
import { invalidConfig } from './invalid.ts';

/** Characters of a price map: LiteLLM's has 1.5 million. */
export const MAX_MAP_LENGTH = 32_000_000;

/** Entries of a price map. */
const MAX_ENTRIES = 50_000;

/** Names with a meaning in JavaScript objects. */
const RESERVED = ['__proto__', 'constructor', 'prototype'];

/** An entry that describes the format. */
const SAMPLE = 'sample_spec';

/** The settings of a model that a price map has. Prices are credits per million tokens. */
export interface MappedModel {
  readonly price: Readonly<Record<string, number>>;
  readonly maxOutputTokens?: number;
  readonly contextWindow?: number;
  readonly reasoning?: object;
}

export interface MapEntry {
  /** Its name in the map. */
  readonly name: string;
  /** The map's name of the provider; empty if the entry has none. */
  readonly provider: string;
  /** What the model does: chat, responses, embedding and others; empty if the entry says nothing. */
  readonly mode: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The end of a string in valid JSON. @param start of its opening quote */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
}

/** Names at the top of valid JSON in the order of the text, those that are given twice included. */
function topNames(text: string): string[] {
  const names: string[] = [];
  let depth = 0;
  let isName = true;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      if (depth === 1 && isName) names.push(JSON.parse(text.slice(at, end)) as string);
      at = end - 1;
    } else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    else if (depth === 1 && character === ':') isName = false;
    else if (depth === 1 && character === ',') isName = true;
  }
  return names;
}

/**
 * Reads a price map in LiteLLM's format: a JSON object of models by name.
 *
 * @param label the file's name in messages
 * @throws Failure where it is no such map
 */
export function readPriceMap(text: string, label: string): readonly MapEntry[] {
  if (text.length > MAX_MAP_LENGTH) {
    throw invalidConfig(`${label}: longer than ${MAX_MAP_LENGTH / 1e6} million characters`);
  }
  let map: unknown;
  try {
    map = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    const { message } = error as Error;
    throw invalidConfig(`${label}: expected JSON: ${message.slice(0, 200)}`);
  }
  if (!isObject(map)) {
    throw invalidConfig(
      `${label}: expected an object of models by name, received ${formatValue(map, [])}`,
    );
  }
  const names = topNames(text);
  if (names.length > MAX_ENTRIES) throw invalidConfig(`${label}: more than ${MAX_ENTRIES} models`);
  const seen = new Set<string>();
  for (const name of names) {
    const quoted = JSON.stringify(name.slice(0, 200));
    if (RESERVED.includes(name))
      throw invalidConfig(`${label}: ${quoted}: this name cannot be used`);
    if (seen.has(name)) throw invalidConfig(`${label}: ${quoted}: given twice`);
    seen.add(name);
  }
  return Object.entries(map).flatMap(([name, value]) => {
    if (name === SAMPLE) return [];
    if (!isObject(value)) {
      const quoted = JSON.stringify(name.slice(0, 200));
      throw invalidConfig(
        `${label}: ${quoted}: expected an object, received ${formatValue(value, [])}`,
      );
    }
    const { litellm_provider: provider, mode } = value;
    return [
      {
        name,
        provider: typeof provider === 'string' ? provider : '',
        mode: typeof mode === 'string' ? mode : '',
        value,
      },
    ];
  });
}

/** Costs of the map in units of its currency for one token, by the setting of the price. */
const COSTS = {
  input: 'input_cost_per_token',
  cachedInput: 'cache_read_input_token_cost',
  cacheWrite: 'cache_creation_input_token_cost',
  cacheWrite1h: 'cache_creation_input_token_cost_above_1hr',
  output: 'output_cost_per_token',
} as const;

const IMPORTED_COSTS: readonly string[] = Object.values(COSTS);

/** The highest price of a setting, in micro-credits per million tokens. */
const MAX_PRICE = 1e15;

export interface Conversion {
  readonly model: MappedModel;
  /** What the model's settings cannot express. */
  readonly notes: readonly string[];
  readonly faults: readonly string[];
}

/** Reads the numbers of one entry, and collects the faults of those that are none. */
class EntryReader {
  readonly faults: string[] = [];
  readonly #entry: MapEntry;

  constructor(entry: MapEntry) {
    this.#entry = entry;
  }

  /** @param accepts whether a number is valid */
  number(name: string, expected: string, accepts: (value: number) => boolean): number | null {
    const value = this.#entry.value[name] ?? null;
    if (value === null) return null;
    // Some entries write numbers as texts: "1e-06".
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number === 'number' && accepts(number)) return number;
    const quoted = JSON.stringify(this.#entry.name);
    this.faults.push(`${quoted}.${name}: expected ${expected}, received ${formatValue(value, [])}`);
    return null;
  }

  count(name: string): number | null {
    const isCount = (value: number) => Number.isSafeInteger(value) && value >= 0;
    const count = this.number(name, 'an integer of at least 0', isCount);
    return count === 0 ? null : count;
  }
}

/**
 * Converts an entry of a price map to settings of a model.
 *
 * @param creditsPerUnit credits for one unit of the map's currency
 */
export function convertEntry(entry: MapEntry, creditsPerUnit: number): Conversion {
  const reader = new EntryReader(entry);
  const price: Record<string, number> = {};
  for (const [setting, name] of Object.entries(COSTS)) {
    const cost = reader.number(
      name,
      'a number of at least 0 for one token',
      (value) => value >= 0 && value * creditsPerUnit * 1e12 <= MAX_PRICE,
    );
    // Rounded before it is rounded up: 1.1e-6 × 1e12 is not 1,100,000 in binary fractions.
    const micro = cost === null ? null : Number((cost * creditsPerUnit * 1e12).toPrecision(12));
    if (micro !== null) price[setting] = toCredits(Math.ceil(micro));
  }
  const maxOutputTokens = reader.count('max_output_tokens') ?? reader.count('max_tokens');
  const contextWindow = reader.count('max_input_tokens');
  const free = (['input', 'output'] as const).filter((setting) => price[setting] === undefined);
  const notes = [...notesOf(entry), ...free.map((setting) => `free: no ${COSTS[setting]}`)];
  return {
    model: {
      price,
      ...(maxOutputTokens !== null && { maxOutputTokens }),
      ...(contextWindow !== null && { contextWindow }),
      ...reasoningOf(entry),
    },
    notes,
    faults: reader.faults,
  };
}

/** Costs that the price of a model cannot express, by their names in the map. */
function notesOf({ value }: MapEntry): string[] {
  const others = Object.keys(value).filter(
    (name) => name.includes('cost') && !IMPORTED_COSTS.includes(name) && isCost(value[name]),
  );
  return others.length > 0 ? [`not imported: ${others.join(', ')}`] : [];
}

function isCost(value: unknown): boolean {
  return isObject(value) || Number(value) > 0;
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
