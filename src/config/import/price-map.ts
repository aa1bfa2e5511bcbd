import { formatValue } from '../../schema/faults.ts';
import { isObject } from '../../schema/untrusted.ts';
import { invalidConfig } from '../yaml/invalid.ts';

/** Characters of a price map: LiteLLM's has 1.5 million. */
export const MAX_MAP_LENGTH = 32_000_000;

/** Entries of a price map. */
const MAX_ENTRIES = 50_000;

/** Names with a meaning in JavaScript objects. */
const RESERVED = ['__proto__', 'constructor', 'prototype'];

/** An entry that describes the format. */
const SAMPLE = 'sample_spec';

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
