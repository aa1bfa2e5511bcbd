import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { PromptValues } from '../../../src/text/sandbox/schema/prompt-values.ts';
import { UnsupportedSchema } from '../../../src/text/sandbox/schema/step-budget.ts';
import { generateValue } from '../../../src/text/sandbox/schema/value-generator.ts';
import { runs } from '../../runs.ts';

/** Ordinary schemas, by what they are. */
const SCHEMAS = parse(readFileSync(join(import.meta.dirname, 'schemas.yaml'), 'utf8')) as Record<
  string,
  object
>;

const EMPTY_PROMPT = new PromptValues('');

/** Formats that the sandbox generates, by their specifications. */
const FORMATS: Readonly<Record<string, RegExp>> = {
  date: /^\d{4}-\d\d-\d\d$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  email: /^[\w.]+@[\w.]+$/,
  uuid: /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
  uri: /^https:\/\/\S+$/,
  ipv4: /^\d+(\.\d+){3}$/,
};

/** Validates by Ajv, an implementation of JSON Schema that is independent of ours. */
function isValid(schema: object, value: unknown): boolean {
  const ajv = new Ajv2020({ strict: false, formats: FORMATS, logger: false });
  return ajv.validate(schema, value);
}

const bounds = (from: string, to: string, most: number) =>
  fc.tuple(fc.option(fc.nat(most)), fc.option(fc.nat(most))).map(([a, b]) => ({
    ...(a !== null && { [from]: b === null ? a : Math.min(a, b) }),
    ...(b !== null && { [to]: a === null ? b : Math.max(a, b) }),
  }));

const text = fc.oneof(
  bounds('minLength', 'maxLength', 30).map((more) => ({ type: 'string', ...more })),
  fc.constantFrom(...Object.keys(FORMATS)).map((format) => ({ type: 'string', format })),
  fc
    .uniqueArray(fc.string(), { minLength: 1, maxLength: 4 })
    .map((choices) => ({ type: 'string', enum: choices })),
);

const amount = fc.oneof(
  bounds('minimum', 'maximum', 1000).map((more) => ({ type: 'integer', ...more })),
  bounds('minimum', 'maximum', 1000).map((more) => ({ type: 'number', ...more })),
  fc
    .tuple(fc.integer({ min: -50, max: 50 }), fc.constantFrom('integer', 'number'))
    .map(([from, type]) => ({ type, exclusiveMinimum: from, exclusiveMaximum: from + 2 })),
  fc
    .constantFrom(0.1, 0.01, 3, 7.5)
    .map((step) => ({ type: 'number', multipleOf: step, minimum: 0.3 })),
);

const scalar = fc.oneof(
  text,
  amount,
  fc.constant({ type: 'boolean' }),
  fc.constant({ type: 'null' }),
  fc.constant({ type: ['null', 'string'] }),
  // Without objects: Ajv compares them by `toString`, which may be the name of a property.
  fc
    .jsonValue({ maxDepth: 2 })
    .filter((value) => !JSON.stringify(value).includes('{'))
    .map((value) => ({ const: value })),
  fc.constant({}),
);

const name = fc.oneof(
  fc.constantFrom('city', 'count', 'query', 'toString', 'constructor', 'a b', ''),
  fc.string({ maxLength: 5 }).filter((key) => key !== '__proto__'),
);

/** Schemas that each allow some value. */
const { schema: any } = fc.letrec<{ schema: object; object: object }>((tie) => ({
  object: fc
    .tuple(
      fc.dictionary(name, tie('schema'), { maxKeys: 4, noNullPrototype: true }),
      fc.boolean(),
      fc.func(fc.boolean()),
    )
    .map(([properties, closed, isRequired]) => ({
      type: 'object',
      properties,
      required: Object.keys(properties).filter((key) => isRequired(key)),
      ...(closed && { additionalProperties: false }),
    })),
  schema: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'schema' },
    scalar,
    tie('object'),
    fc
      .tuple(tie('schema'), bounds('minItems', 'maxItems', 4))
      .map(([items, more]) => ({ type: 'array', items, ...more })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc.tuple(tie('object'), tie('schema')).map(([one, extra]) => ({
      allOf: [
        { ...one, additionalProperties: true },
        {
          type: 'object',
          properties: { extra: { anyOf: [extra ?? {}, true] } },
          required: ['extra'],
        },
      ],
    })),
    fc.tuple(tie('schema'), tie('schema')).map((values) => ({
      oneOf: values.map((value, kind) => ({
        type: 'object',
        required: ['kind'],
        properties: { kind: { const: kind }, value },
      })),
    })),
  ),
}));

/** Reads of a schema's parts that generating a value may take. */
const MAX_READS = 2_000_000;

/** A proxy of a value that counts reads, so that work is measured without a clock. */
function counted<Value extends object>(value: Value): Value {
  let reads = 0;
  const wrappers = new WeakMap<object, object>();
  const read = () => {
    reads += 1;
    if (reads > MAX_READS) throw new Error(`more than ${MAX_READS} reads`);
  };
  const wrap = (target: unknown): unknown => {
    if (typeof target !== 'object' || target === null) return target;
    const known = wrappers.get(target);
    if (known) return known;
    const wrapper = new Proxy(target, {
      get(from, key) {
        read();
        return wrap(Reflect.get(from, key));
      },
      getOwnPropertyDescriptor(from, key) {
        read();
        return Reflect.getOwnPropertyDescriptor(from, key);
      },
    });
    wrappers.set(target, wrapper);
    return wrapper;
  };
  return wrap(value) as Value;
}

const many = <Item>(count: number, item: (index: number) => Item) =>
  Array.from({ length: count }, (_, index) => item(index));

const record = <Value>(count: number, prefix: string, value: (index: number) => Value) =>
  Object.fromEntries(many(count, (index) => [`${prefix}${index}`, value(index)]));

/** Definitions that each refer to the one before. */
const chained = (refer: (ref: object) => object) => ({
  $ref: '#/$defs/s30',
  $defs: record(31, 's', (index) => (index === 0 ? {} : refer({ $ref: `#/$defs/s${index - 1}` }))),
});

/** Schemas that take long if some loop of the generator is not bounded. */
const EXPENSIVE_SCHEMAS: readonly (readonly [name: string, schema: object])[] = [
  ['a list of a billion', { type: 'array', minItems: 1e9, items: { type: 'integer' } }],
  ['a billion properties', { type: 'object', minProperties: 1e9 }],
  [
    'a schema of 3,000 keywords that 2,000 items refer to',
    {
      type: 'array',
      minItems: 2000,
      items: { $ref: '#/$defs/wide' },
      $defs: { wide: { type: 'integer', ...record(3000, 'x', () => 1) } },
    },
  ],
  [
    'an enum of 5,000 values beside 5,000 keywords',
    { enum: many(5000, (index) => `v${index}`), ...record(5000, 'x', () => 1) },
  ],
  ['50,000 schemas in one allOf', { allOf: many(50_000, () => ({})) }],
  [
    'properties of 100 schemas in one allOf',
    {
      allOf: many(100, (n) => ({ type: 'object', properties: record(100, `p${n}_`, () => ({})) })),
    },
  ],
  [
    'an anyOf and a oneOf that exclude each other',
    { anyOf: many(5000, () => true), oneOf: many(5000, () => false) },
  ],
  [
    'a name that is required 20,000 times',
    { type: 'array', minItems: 1000, items: { required: many(20_000, () => 'name') } },
  ],
  [
    'a type that is named 20,000 times',
    { type: 'array', minItems: 1000, items: { type: many(20_000, () => 'string') } },
  ],
  ['nested oneOf of two', chained((ref) => ({ oneOf: [{ allOf: [ref, { not: {} }] }, ref] }))],
  ['nested allOf of two', chained((ref) => ({ allOf: [ref, ref] }))],
  ['a quotient that is infinite', { type: 'number', multipleOf: 1e-308, minimum: 1e308 }],
  [
    'properties nested 480 levels deep',
    JSON.parse(`${'{"properties":{"a":'.repeat(480)}true${'}}'.repeat(480)}`),
  ],
];

/** Names and values of which a schema has few, each as large as many. */
const LONG = 'x'.repeat(200_000);
const LARGE = many(50_000, (index) => ({ a: index }));

describe('generateValue', () => {
  it.each(EXPENSIVE_SCHEMAS)('reads at most 2,000,000 schema parts for %s', (_, schema) => {
    try {
      generateValue(counted(schema), EMPTY_PROMPT);
    } catch (error) {
      expect(error).toBeInstanceOf(UnsupportedSchema);
    }
  });

  it.each([
    [
      'a long name of a text',
      { [LONG]: { type: 'array', minItems: 1000, items: { type: 'string' } } },
    ],
    [
      'a long name of an item',
      {
        a: {
          type: 'array',
          minItems: 1000,
          items: { required: [LONG], properties: { [LONG]: {} } },
        },
      },
    ],
    ['a large constant', { a: { type: 'array', minItems: 3000, items: { const: { LARGE } } } }],
    ['large values in one allOf', { a: { allOf: many(300, () => ({ enum: [LARGE, 1] })) } }],
    ['a long list of types', { a: { type: many(5_000_000, () => 'x') } }],
  ])('throws UnsupportedSchema within five seconds of CPU for %s', (_, properties) => {
    const schema = { type: 'object', properties, required: Object.keys(properties) };
    const before = process.cpuUsage();
    expect(() => generateValue(schema, EMPTY_PROMPT)).toThrow(UnsupportedSchema);
    expect(process.cpuUsage(before).user).toBeLessThan(5e6);
  });

  it.each([
    ['a long pattern', { pattern: `(a|${'b'.repeat(50_000)})` }],
    ['long texts', { minLength: 90_000 }],
    ['a long reference', { $ref: `#/${'a/'.repeat(50_000)}` }],
  ])('throws UnsupportedSchema with a short message for 1,000 items with %s', (_, item) => {
    const schema = { type: 'array', minItems: 1000, items: { type: 'string', ...item } };
    expect(() => generateValue(schema, EMPTY_PROMPT)).toThrow(UnsupportedSchema);
    expect(() => generateValue(schema, EMPTY_PROMPT)).toThrow(/^.{1,200}$/);
  });

  it('returns a valid value, the same at each call', () => {
    fc.assert(
      fc.property(any, (schema) => {
        const value = generateValue(schema, EMPTY_PROMPT);
        expect({ value, valid: isValid(schema, value) }).toEqual({ value, valid: true });
        expect(generateValue(schema, EMPTY_PROMPT)).toEqual(value);
      }),
      { numRuns: 60 },
    );
  });

  it('returns a valid value for any values in the prompt', () => {
    fc.assert(
      fc.property(any, fc.string(), fc.integer(), (schema, word, count) => {
        const promptValues = new PromptValues(
          `city=${word} "${word}" in Paris, count: ${count} and ${word}`,
        );
        expect(isValid(schema, generateValue(schema, promptValues))).toBe(true);
      }),
    );
  });

  it('returns or throws UnsupportedSchema for an arbitrary schema', () => {
    const keyword = fc.constantFrom(
      ...['type', 'properties', 'items', 'required', 'anyOf', 'oneOf', 'allOf', '$ref', 'enum'],
      ...['minItems', 'minLength', 'pattern', 'minimum', 'multipleOf', 'format', 'const', 'not'],
    );
    const value = fc.oneof(
      fc.constantFrom('#', '#/properties/a', 'object', 'array', '(?=a)', '[', '(a+)+$', 1e308),
      fc.jsonValue({ maxDepth: 1 }),
    );
    const few = { maxKeys: 3, depthIdentifier: 'junk' } as const;
    const { junk } = fc.letrec<{ junk: object; part: unknown }>((tie) => ({
      junk: fc.dictionary(keyword, tie('part'), few),
      part: fc.oneof(
        { maxDepth: 3, depthIdentifier: 'junk' },
        value,
        tie('junk'),
        fc.array(tie('junk'), { maxLength: 2, depthIdentifier: 'junk' }),
        fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('junk'), few),
      ),
    }));
    fc.assert(
      fc.property(junk, (schema) => {
        try {
          generateValue(schema, EMPTY_PROMPT);
        } catch (error) {
          expect(error).toBeInstanceOf(UnsupportedSchema);
        }
      }),
      { numRuns: runs(500) },
    );
  });

  it.each([
    ...Object.entries(SCHEMAS),
    [
      'a property named __proto__',
      JSON.parse('{"properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}'),
    ],
  ])('returns a valid value for %s', (_, schema) => {
    const value = generateValue(schema, EMPTY_PROMPT);
    expect({ value, valid: isValid(schema as object, value) }).toEqual({ value, valid: true });
  });

  it.each([
    ['the schema false', false, /no value satisfies it/],
    ['a minimum above the maximum', { type: 'integer', minimum: 5, maximum: 4 }, /no number/],
    [
      'types that exclude each other',
      { allOf: [{ type: 'string' }, { type: 'null' }] },
      /no value/,
    ],
    ['a reference without a target', { $ref: '#/$defs/none' }, /has no target/],
    ['a reference to another schema', { $ref: 'https://example.com/schema' }, /outside the schema/],
    ['a reference to itself', { $ref: '#' }, /only to itself/],
    ['alternatives that are the schema', { oneOf: [{ $ref: '#' }] }, /only to itself/],
    [
      'values that nest without end',
      { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
      /no end/,
    ],
    ['a list of a billion', { type: 'array', minItems: 1e9 }, /too large/],
    ['a text of a billion', { type: 'string', minLength: 1e9 }, /that long/],
    ['a condition', { type: 'string', not: { minLength: 5 } }, /does not support not: add an enum/],
    ['a pattern', { type: 'string', pattern: '^[a-f]+$' }, /no text for the pattern "\^\[a-f\]/],
    [
      'more unique items than values',
      { type: 'array', uniqueItems: true, minItems: 3, items: { type: 'boolean' } },
      /differ/,
    ],
  ])('throws UnsupportedSchema for %s', (_, schema, message) => {
    expect(() => generateValue(schema, EMPTY_PROMPT)).toThrow(message);
    expect(() => generateValue(schema, EMPTY_PROMPT)).toThrow(UnsupportedSchema);
  });

  it('takes values of named properties from the prompt', () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string' },
        days: { type: 'integer', maximum: 10 },
        unit: { enum: ['celsius', 'fahrenheit'] },
        note: { type: 'string', maxLength: 12 },
      },
    };
    const prompt = 'The weather in New York for 5 days in fahrenheit, note: "take a coat"';
    expect(generateValue(schema, new PromptValues(prompt))).toEqual({
      city: 'New York',
      days: 5,
      unit: 'fahrenheit',
      note: 'take a coat',
    });
  });
});
