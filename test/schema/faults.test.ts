import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { checkAll, formatPath } from '../../src/schema/faults.ts';
import { field, integer } from '../../src/schema/fields.ts';

const schema = v.strictObject({
  count: field(integer(1, 9), 'How many.'),
  maybe: v.optional(field(v.boolean(), 'Whether.'), true),
  items: v.optional(
    v.array(
      v.variant('kind', [
        v.strictObject({ kind: v.literal('square'), side: integer(1) }),
        v.strictObject({ kind: v.literal('circle'), radius: integer(1) }),
      ]),
    ),
    [],
  ),
  named: v.optional(
    v.record(v.pipe(v.string(), v.regex(/^[a-z]+$/)), v.strictObject({ a: integer(0) })),
    {},
  ),
});

/** Each fault as a line. */
function faultsIn(value: unknown): string[] {
  const checked = checkAll(schema, value);
  if (!('faults' in checked)) return [];
  return checked.faults.map(({ path, message }) => `${formatPath(path)}: ${message}`);
}

describe('checkAll', () => {
  it('returns a valid value with its defaults', () => {
    expect(checkAll(schema, { count: 1 })).toEqual({
      output: { count: 1, maybe: true, items: [], named: {} },
    });
  });

  it.each<[value: unknown, faults: string[]]>([
    [{}, ['count: is required: an integer from 1 to 9']],
    [{ count: 0.5 }, ['count: expected an integer from 1 to 9, received 0.5']],
    [null, [': expected an object, received null']],
    ['text', [': expected an object, received a text']],
    [[], [': expected an object, received a list']],
    [
      { count: 'x', maybe: 1, other: 2, coumt: 3 },
      [
        'other: unknown; expected one of count, maybe, items, named',
        'coumt: unknown; did you mean count?',
        'count: expected an integer from 1 to 9, received "x"',
        'maybe: expected true or false, received 1',
      ],
    ],
    [
      {
        count: 1,
        items: [{ kind: 'square', side: 0 }, { kind: 'cube' }, 3, { kind: 'circle', side: 1 }],
      },
      [
        'items[3].side: unknown; expected one of kind, radius',
        'items[0].side: expected an integer of at least 1, received 0',
        'items[1].kind: expected one of square, circle, received "cube"',
        'items[2]: expected an object, received 3',
        'items[3].radius: is required: an integer of at least 1',
      ],
    ],
    [{ count: 1, items: { a: { b: 1 } } }, ['items: expected a list, received an object']],
    [{ count: 1, named: [{ a: 1 }, 2] }, ['named: expected an object, received a list']],
    [
      { count: 1, named: { A: { a: 1 }, b: { a: -1, c: 2 }, d: [] } },
      [
        'named.b.c: unknown; expected one of a',
        'named.d: expected an object, received a list',
        'named.A: expected a text as its name',
        'named.b.a: expected an integer of at least 0, received -1',
      ],
    ],
  ])('finds all faults of %j', (value, faults) => {
    expect(faultsIn(value)).toEqual(faults);
  });

  it('rejects names of inherited properties as unknown', () => {
    const value = JSON.parse('{"count": 1, "toString": 1, "__proto__": {"maybe": 1}}') as unknown;
    expect(faultsIn(value)).toEqual([
      'toString: unknown; expected one of count, maybe, items, named',
      '__proto__: unknown; expected one of count, maybe, items, named',
    ]);
  });

  it.each([
    ['conut', 'count'],
    ['coun', 'count'],
    ['Count', 'count'],
    ['item', 'items'],
    ['may_be', 'maybe'],
    ['nmaed', 'named'],
  ])('suggests for %s the name %s', (wrong, right) => {
    expect(faultsIn({ count: 1, [wrong]: 1 })).toEqual([
      `${wrong}: unknown; did you mean ${right}?`,
    ]);
  });

  it('quotes long values in part and redacts credentials in URLs', () => {
    expect(faultsIn({ count: 'x'.repeat(99) })[0]).toBe(
      `count: expected an integer from 1 to 9, received "${'x'.repeat(56)}...`,
    );
    expect(faultsIn({ count: 'https://user:word@host/' })[0]).toContain(
      'received "https://***@host/"',
    );
  });
});

it('formatPath uses dots, and brackets for indexes and other names', () => {
  expect(formatPath(['models', 'some-model', 'routes', 0, 'provider'])).toBe(
    'models.some-model.routes[0].provider',
  );
  expect(formatPath(['a b', 'c.d', '', '0', 1])).toBe('["a b"]["c.d"][""]["0"][1]');
});
