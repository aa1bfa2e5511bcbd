import type { Random } from '../random.ts';
import { strangeText } from './json.ts';

/** JSON Schema, as far as Oriel's OpenAPI document uses it. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
}

/** Nesting level below which only required properties are generated. */
const DEPTH = 8;

/** A random value that matches a schema, except for its patterns. */
export function sampleOf(schema: Schema, random: Random, depth = 0): unknown {
  if (schema.const !== undefined) return schema.const;
  if (schema.examples !== undefined && schema.examples.length > 0 && random.chance(0.4)) {
    return random.pick(schema.examples);
  }
  if (schema.enum !== undefined && schema.enum.length > 0) return random.pick(schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined && choices.length > 0)
    return sampleOf(random.pick(choices), random, depth);
  if (schema.allOf !== undefined) {
    return Object.assign(
      {},
      ...schema.allOf.map((part) => sampleOf(part, random, depth) as object),
    );
  }
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0];
  switch (type) {
    case 'object':
      return objectOf(schema, random, depth);
    case 'array': {
      const least = schema.minItems ?? 0;
      const most = Math.min(schema.maxItems ?? 3, depth > DEPTH ? least : least + 3);
      const length = least + random.below(most - least + 1);
      return Array.from({ length }, () => sampleOf(schema.items ?? {}, random, depth + 1));
    }
    case 'integer':
    case 'number': {
      const least = schema.minimum ?? (type === 'integer' ? 0 : -2);
      const most = schema.maximum ?? least + 100;
      const value = random.pick([least, most, least + random.fraction() * (most - least)]);
      return type === 'integer' ? Math.round(value) : value;
    }
    case 'boolean':
      return random.chance(0.5);
    case 'null':
      return null;
    case 'string':
      return textOf(schema, random);
    default:
      return random.pick(['x', 1, null, {}]);
  }
}

function objectOf(schema: Schema, random: Random, depth: number): object {
  const { properties = {}, required = [] } = schema;
  const share = depth > DEPTH ? 0 : 0.3;
  const names = Object.keys(properties).filter(
    (name) => required.includes(name) || random.chance(share),
  );
  return Object.fromEntries(
    names.map((name) => [name, sampleOf(properties[name]!, random, depth + 1)]),
  );
}

const SAMPLES = [
  'Hello',
  'a lake',
  '16:9',
  '64x64',
  'auto',
  'user',
  'text',
  '2026-01-31',
  '#ff8800',
];

function textOf({ minLength = 0, maxLength = 200, format }: Schema, random: Random): string {
  // URLs must not lead outside of this machine.
  if (format === 'uri') return 'http://127.0.0.1:9/x.png';
  const text = random.chance(0.8) ? random.pick(SAMPLES) : strangeText(random);
  return text.slice(0, maxLength).padEnd(minLength, 'x');
}
