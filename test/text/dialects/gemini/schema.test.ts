import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import {
  functionNameFromWire,
  functionNameOnWire,
} from '../../../../src/text/dialects/gemini/function-names.ts';
import { fromOpenApi } from '../../../../src/text/dialects/gemini/openapi-schema.ts';
import { schemaOnWire } from '../../../../src/text/dialects/gemini/schema.ts';
import { nameOnWire } from '../../../../src/text/dialects/tool-names.ts';
import { schemaFault } from '../../gemini/gemini-rules.ts';
// The errors name dialects.
import '../../../../src/text/built-in-dialects.ts';
import { runs } from '../../../runs.ts';

const described = (schema: Json) => schemaOnWire(schema, { param: 'tools[0]', isEnforced: false });
const enforced = (schema: Json) => schemaOnWire(schema, { param: 'format', isEnforced: true });

describe('a JSON Schema for gemini', () => {
  it.each([
    [{ const: 'a' }, { enum: ['a'] }],
    [
      { type: 'integer', exclusiveMinimum: 0 },
      { type: 'integer', minimum: 1 },
    ],
    [
      { type: 'integer', exclusiveMaximum: 9 },
      { type: 'integer', maximum: 8 },
    ],
    [
      { allOf: [{ $ref: '#/$defs/a' }], title: 'A' },
      { anyOf: [{ $ref: '#/$defs/a' }], title: 'A' },
    ],
    [
      { $ref: '#/definitions/a', default: 1 },
      { anyOf: [{ $ref: '#/$defs/a' }], description: '(default: 1)' },
    ],
    [{ definitions: { a: { const: 1 } } }, { $defs: { a: { enum: [1] } } }],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object' }, { type: 'object' }],
    [
      { type: 'object', properties: { const: { type: 'string' }, allOf: { type: 'number' } } },
      { type: 'object', properties: { const: { type: 'string' }, allOf: { type: 'number' } } },
    ],
  ])('has the same meaning in other keywords: %j', (schema, wire) => {
    expect(enforced(schema)).toEqual(wire);
  });

  it.each([
    [{ type: 'string', pattern: '^a', minLength: 2 }, '(pattern: "^a", minLength: 2)'],
    [{ description: 'A price.', exclusiveMinimum: 0 }, 'A price. (exclusiveMinimum: 0)'],
    [{ const: true }, '(const: true)'],
    [{ enum: [true, false] }, '(enum: [true,false])'],
    [{ not: { type: 'null' } }, '(not: {"type":"null"})'],
  ])('describes what Gemini does not read: %j', (schema, description) => {
    expect(described(schema)).toMatchObject({ description });
    expect(() => enforced(schema)).toThrow(/format: this upstream does not enforce/);
  });

  it('refuses by the place in the schema', () => {
    const schema = { properties: { a: { items: { anyOf: [{ minLength: 1 }] } } } };
    expect(() => enforced(schema)).toThrow('properties.a.items.anyOf[0].minLength of the schema');
  });

  const keyword = fc.constantFrom(
    ...['type', 'enum', 'const', '$ref', 'pattern', 'minimum', 'exclusiveMinimum', 'description'],
  );
  const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
    schema: fc.oneof(
      // Without a limit a random schema has a million parts now and then.
      { depthSize: 'small', maxDepth: 4 },
      fc.dictionary(keyword, fc.oneof(fc.string(), fc.integer(), fc.array(fc.string()))),
      fc.record(
        {
          properties: fc.dictionary(fc.string(), tie('schema'), { maxKeys: 3 }),
          items: tie('schema'),
          anyOf: fc.array(tie('schema'), { maxLength: 3 }),
          allOf: fc.array(tie('schema'), { maxLength: 2 }),
          definitions: fc.dictionary(fc.string(), tie('schema'), { maxKeys: 3 }),
          not: tie('schema'),
        },
        { requiredKeys: [] },
      ) as fc.Arbitrary<Json>,
    ),
  }));

  it('has only keywords that Gemini documents, and stays as it is when it is encoded again', () => {
    fc.assert(
      fc.property(schema, (given) => {
        const wire = described(given);
        expect(schemaFault(wire)).toBeNull();
        expect(described(wire)).toEqual(wire);
      }),
      { numRuns: runs(200) },
    );
  });
});

it('a schema of OpenAPI becomes JSON Schema at every depth', () => {
  const schema = {
    type: 'ARRAY',
    maxItems: '3',
    items: { anyOf: [{ type: 'STRING', nullable: true, enum: ['a'], format: 'enum' }] },
    example: [1],
  };
  expect(fromOpenApi(schema)).toEqual({
    type: 'array',
    maxItems: 3,
    items: { anyOf: [{ type: ['string', 'null'], enum: ['a', null] }] },
    examples: [[1]],
  });
});

it('every name of a tool becomes one that Google accepts, and is decoded from it', () => {
  const name = fc.oneof(fc.string({ minLength: 1 }), fc.stringMatching(/^_{0,3}[0-9a-z-]{1,8}$/));
  fc.assert(
    fc.property(name, (given) => {
      const wire = functionNameOnWire(given);
      expect(wire).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,64}$/);
      expect(functionNameFromWire(wire)).toBe(nameOnWire(given));
    }),
    { numRuns: runs(300) },
  );
});
