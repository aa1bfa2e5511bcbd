import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Hints } from '../../../src/text/sandbox/hints.ts';
import { Unmakeable } from '../../../src/text/sandbox/schema/unmakeable.ts';
import { makeValue } from '../../../src/text/sandbox/schema/value.ts';

const NOTHING = new Hints('');

/** The formats that the sandbox makes, as their documents have them. */
const FORMATS: Readonly<Record<string, RegExp>> = {
  date: /^\d{4}-\d\d-\d\d$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  email: /^[\w.]+@[\w.]+$/,
  uuid: /^[\da-f]{8}-[\da-f]{4}-[1-8][\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
  uri: /^https:\/\/\S+$/,
  ipv4: /^\d+(\.\d+){3}$/,
};

/** Another reading of JSON Schema than ours. */
function allows(schema: object, value: unknown): boolean {
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
  fc
    .constantFrom('^[A-Z]{2}\\d{3,5}$', '^(a|b)+$', '^\\+?[1-9]\\d{1,14}$', '[^a-y]x?', 'é|\\u00e8')
    .map((pattern) => ({ type: 'string', pattern })),
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

/** Goes with every other schema of a text that has no pattern of its own: those are never run. */
const short = bounds('minLength', 'maxLength', 30).map((more) => ({ type: 'string', ...more }));

const scalar = fc.oneof(
  text,
  amount,
  fc.constant({ type: 'boolean' }),
  fc.constant({ type: 'null' }),
  fc.constant({ type: ['null', 'string'] }),
  // Without objects: the other reading compares those by their own `toString`, which a name may be.
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

/** Schemas each of which some value fits. */
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
    fc
      .tuple(tie('schema'), short)
      .map(([one, other]) => ({ anyOf: [{ allOf: [one, other] }, one] })),
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
    tie('schema').map((one) => ({
      oneOf: [
        { type: 'object', required: ['kind'], properties: { kind: { const: 'a' } } },
        { not: { type: 'object' }, anyOf: [one, { type: 'string' }] },
      ],
    })),
  ),
}));

/** Reads of a schema's parts that finding a value may take. */
const READS = 2_000_000;

/** A copy of a value that counts what is read of it, so that work is bounded without a clock. */
function counted<Value extends object>(value: Value): Value {
  let reads = 0;
  const wrappers = new WeakMap<object, object>();
  const read = () => {
    reads += 1;
    if (reads > READS) throw new Error(`more than ${READS} reads`);
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

/** Objects that differ in their last property only. */
const nearlyEqual = (count: number) =>
  many(count, (index) => ({ ...record(30, 'k', () => 1), last: index }));

/** Definitions each of which refers to the one before it. */
const chained = (refer: (ref: object) => object) => ({
  $ref: '#/$defs/s30',
  $defs: record(31, 's', (index) => (index === 0 ? {} : refer({ $ref: `#/$defs/s${index - 1}` }))),
});

/** Schemas that take long where some step of the search is not bounded. */
const BOMBS: readonly (readonly [name: string, schema: object])[] = [
  ['a constant of distinct items', { uniqueItems: true, const: nearlyEqual(3000) }],
  ['a choice of distinct items', { uniqueItems: true, enum: [nearlyEqual(3000)] }],
  [
    'items that are nearly equal',
    { type: 'array', uniqueItems: true, minItems: 3000, items: { enum: nearlyEqual(3000) } },
  ],
  ['a list of a billion', { type: 'array', minItems: 1e9, items: { type: 'integer' } }],
  ['a billion properties', { type: 'object', minProperties: 1e9 }],
  [
    'a wide schema that is referred to often',
    {
      type: 'array',
      minItems: 2000,
      items: { $ref: '#/$defs/wide' },
      $defs: { wide: { type: 'integer', ...record(3000, 'x', () => 1) } },
    },
  ],
  [
    'a wide schema with many choices',
    { enum: many(5000, (index) => `v${index}`), ...record(5000, 'x', () => 1) },
  ],
  ['schemas without end in one', { allOf: many(50_000, () => ({})) }],
  [
    'properties of many schemas in one',
    {
      allOf: many(100, (n) => ({ type: 'object', properties: record(100, `p${n}_`, () => ({})) })),
    },
  ],
  [
    'choices that exclude each other',
    { anyOf: many(5000, () => true), oneOf: many(5000, () => false) },
  ],
  [
    'choices of two lists',
    { allOf: [{ enum: nearlyEqual(3000) }, { enum: nearlyEqual(3001).slice(1).reverse() }] },
  ],
  [
    'a check that is repeated for each item',
    { type: 'array', minItems: 1000, items: { not: { enum: many(3000, (n) => n) } } },
  ],
  [
    'a name that is required again and again',
    { type: 'array', minItems: 1000, items: { required: many(20_000, () => 'name') } },
  ],
  [
    'a type that is named again and again',
    { type: 'array', minItems: 1000, items: { type: many(20_000, () => 'string') } },
  ],
  ['conditions of conditions', chained((ref) => ({ if: ref, not: { not: ref } }))],
  ['either of two, again and again', chained((ref) => ({ oneOf: [ref, { not: ref }] }))],
  ['both of two, again and again', chained((ref) => ({ allOf: [ref, ref] }))],
  [
    'names that depend on each other',
    {
      required: many(400, (n) => `a${n}`),
      dependentRequired: record(400, 'a', () => many(400, (n) => `a${n}`)),
    },
  ],
  ['a multiple that is huge', { type: 'number', multipleOf: 1e-308, minimum: 1e308 }],
  [
    'properties without end',
    JSON.parse(`${'{"properties":{"a":'.repeat(480)}true${'}}'.repeat(480)}`),
  ],
];

describe('a value for a schema', () => {
  it.each(BOMBS)('takes a bounded number of reads for %s', (_, schema) => {
    try {
      makeValue(counted(schema), NOTHING);
    } catch (error) {
      expect(error).toBeInstanceOf(Unmakeable);
    }
  });

  it.each([
    ['a long pattern', { pattern: `(a|${'b'.repeat(50_000)})` }],
    ['a pattern that excludes much', { pattern: `[^${'b'.repeat(50_000)}]` }],
    ['a pattern of empty parts', { pattern: 'a{0}'.repeat(20_000) }],
    ['long texts', { minLength: 90_000 }],
    ['a long constant', { const: 'x'.repeat(100_000) }],
    ['a long reference', { $ref: `#/${'a/'.repeat(50_000)}` }],
  ])('is refused for a list of a thousand with %s', (_, item) => {
    const schema = { type: 'array', minItems: 1000, items: { type: 'string', ...item } };
    expect(() => makeValue(schema, NOTHING)).toThrow(Unmakeable);
    expect(() => makeValue(schema, NOTHING)).toThrow(/^.{1,200}$/);
  });

  it('is what the schema allows, by another reading of it', () => {
    fc.assert(
      fc.property(any, (schema) => {
        const value = makeValue(schema, NOTHING);
        expect({ value, allowed: allows(schema, value) }).toEqual({ value, allowed: true });
        expect(makeValue(schema, NOTHING)).toEqual(value);
      }),
      { numRuns: 60 },
    );
  });

  it('is what the schema allows, whatever the prompt offers', () => {
    fc.assert(
      fc.property(any, fc.string(), fc.integer(), (schema, word, count) => {
        const hints = new Hints(`city=${word} "${word}" in Paris, count: ${count} and ${word}`);
        expect(allows(schema, makeValue(schema, hints))).toBe(true);
      }),
    );
  });

  it('ends, whatever the schema is', () => {
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
          makeValue(schema, NOTHING);
        } catch (error) {
          expect(error).toBeInstanceOf(Unmakeable);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    [
      'a tree',
      {
        $ref: '#/$defs/node',
        $defs: {
          node: {
            type: 'object',
            properties: {
              name: { type: 'string' },
              children: { type: 'array', items: { $ref: '#/$defs/node' } },
            },
            required: ['name', 'children'],
            additionalProperties: false,
          },
        },
      },
    ],
    [
      'a linked list',
      {
        type: 'object',
        properties: {
          value: { type: 'integer' },
          next: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
        },
        required: ['value', 'next'],
      },
    ],
    [
      'many branches',
      {
        $ref: '#/$defs/n',
        $defs: {
          n: {
            type: 'object',
            properties: Object.fromEntries(
              Array.from('abcdefghij', (key) => [key, { $ref: '#/$defs/n' }]),
            ),
          },
        },
      },
    ],
    [
      'distinct items',
      { type: 'array', uniqueItems: true, minItems: 8, items: { type: 'string', maxLength: 2 } },
    ],
    [
      'distinct choices',
      { type: 'array', uniqueItems: true, minItems: 3, items: { enum: ['a', 'b', 'c'] } },
    ],
    [
      'a tuple',
      {
        type: 'array',
        prefixItems: [{ type: 'integer' }, { type: 'string' }],
        items: false,
        minItems: 2,
      },
    ],
    [
      'more properties than it names',
      { type: 'object', minProperties: 3, additionalProperties: { type: 'integer' } },
    ],
    [
      'an item that it must contain',
      { type: 'array', items: { type: 'integer' }, contains: { const: 7 } },
    ],
    [
      'a discriminated choice',
      {
        oneOf: [
          { type: 'object', properties: { kind: { const: 'a' } }, required: ['kind'] },
          {
            type: 'object',
            properties: { kind: { const: 'b' }, size: { type: 'integer' } },
            required: ['kind', 'size'],
          },
        ],
      },
    ],
    [
      'a name that is dangerous',
      JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}',
      ),
    ],
    ['a pointer that is escaped', { $ref: '#/$defs/a~1b%20c', $defs: { 'a/b c': { const: 5 } } }],
    ['a long text', { type: 'string', minLength: 5000, pattern: '^[a-f]+$' }],
  ])('is found for %s', (_, schema) => {
    const value = makeValue(schema, NOTHING);
    expect({ value, allowed: allows(schema as object, value) }).toEqual({ value, allowed: true });
  });

  it.each([
    ['nothing', false, /no value fits/],
    ['bounds that cross', { type: 'integer', minimum: 5, maximum: 4 }, /no number/],
    [
      'types that exclude each other',
      { allOf: [{ type: 'string' }, { type: 'null' }] },
      /no value/,
    ],
    ['a reference to nowhere', { $ref: '#/$defs/none' }, /leads nowhere/],
    ['a reference to elsewhere', { $ref: 'https://example.com/schema' }, /out of the schema/],
    ['a reference to itself', { $ref: '#' }, /nothing but itself/],
    [
      'values without an end',
      { type: 'object', properties: { a: { $ref: '#' } }, required: ['a'] },
      /no end/,
    ],
    ['a list of a billion', { type: 'array', minItems: 1e9 }, /too large/],
    ['a text of a billion', { type: 'string', minLength: 1e9 }, /that long/],
    ['a pattern that looks ahead', { type: 'string', pattern: '^(?=a)b' }, /cannot follow/],
    [
      'more distinct items than there are',
      { type: 'array', uniqueItems: true, minItems: 3, items: { type: 'boolean' } },
      /differ/,
    ],
  ])('is refused for %s', (_, schema, message) => {
    expect(() => makeValue(schema, NOTHING)).toThrow(message);
    expect(() => makeValue(schema, NOTHING)).toThrow(Unmakeable);
  });

  it('is taken from the prompt where that has one', () => {
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
    expect(makeValue(schema, new Hints(prompt))).toEqual({
      city: 'New York',
      days: 5,
      unit: 'fahrenheit',
      note: 'take a coat',
    });
  });
});
