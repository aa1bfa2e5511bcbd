import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findModel, publishModel, publishModels } from '../../../src/config/catalog/catalog.ts';
import { upstreamModelOf } from '../../../src/config/catalog/model-names.ts';
import type { Config } from '../../../src/config/settings/schema.ts';
import { valueOr } from '../../../src/flow.ts';
import { matchesPattern } from '../../../src/schema/pattern.ts';
import { faultsOf } from '../configuration.ts';

const model = (upstream: string, more: object = {}) => ({
  type: 'text',
  routes: [{ provider: 'p', model: upstream }],
  ownedBy: 'oriel',
  price: {},
  ...more,
});

const config = {
  models: {
    'claude-opus': model('up-opus', { aliases: ['opus', 'gpt-opus'] }),
    'claude-*': model('claude-*'),
    'claude-haiku-*': model('vendor/claude-haiku-*-v1'),
    '*-large': model('one-for-all'),
    'vendor/*': model('*'),
    image: model('x', { type: 'image', aliases: ['picture'] }),
  },
} as unknown as Config;

const missing = expect.objectContaining({ status: 404, code: 'model_not_found' }) as Error;
const refused = expect.objectContaining({ status: 403, code: 'model_not_allowed' }) as Error;

describe('a requested name', () => {
  it.each([
    ['claude-opus', 'claude-opus', 'up-opus'],
    ['opus', 'claude-opus', 'up-opus'],
    ['picture', 'image', 'x'],
    ['claude-opus-4', 'claude-*', 'claude-opus-4'],
    ['claude-haiku-4.5', 'claude-haiku-*', 'vendor/claude-haiku-4.5-v1'],
    ['claude-haiku-', 'claude-*', 'claude-haiku-'],
    ['claude-large', 'claude-*', 'claude-large'],
    ['mistral-large', '*-large', 'one-for-all'],
    ['vendor/a/b:free@1+x_y', 'vendor/*', 'a/b:free@1+x_y'],
    ['vendor/$&', null, ''],
  ])('%s is served by %s', (name, id, upstream) => {
    if (id === null) {
      expect(() => findModel(config, name, null)).toThrow(missing);
      return;
    }
    const found = findModel(config, name, null);
    expect(found.id).toBe(id);
    expect(found.model).toBe(config.models[id]);
    expect(upstreamModelOf(found.model.routes[0]!, found.part)).toBe(upstream);
  });

  it.each([
    'claude-',
    'claude-*',
    '*',
    'vendor/../secret',
    'vendor//x',
    'vendor/x y',
    'vendor/\n',
    'vendor/ü',
    `vendor/${'x'.repeat(300)}`,
    'Claude-opus',
    'constructor',
    '__proto__',
  ])('%j is no model', (name) => {
    expect(() => findModel(config, name, null)).toThrow(missing);
  });
});

describe("a key's list of models", () => {
  it.each([
    [['claude-opus'], ['claude-opus', 'opus', 'gpt-opus'], ['claude-opus-4', 'picture']],
    [['opus'], ['claude-opus', 'opus'], ['claude-haiku-3']],
    // A pattern means identifiers, not the aliases of other models.
    [['gpt-*'], [], ['gpt-opus', 'claude-opus']],
    [['claude-*'], ['claude-opus', 'opus', 'claude-x'], ['image', 'mistral-large']],
    [['claude-haiku-*'], ['claude-haiku-3'], ['claude-opus', 'claude-x']],
    [['claude-sonnet-*'], ['claude-sonnet-4'], ['claude-opus-4', 'claude-x']],
    [['claude-sonnet-4'], ['claude-sonnet-4'], ['claude-sonnet-5', 'claude-opus']],
    [['*'], ['image', 'opus', 'claude-x'], []],
    [['*-opus'], ['claude-opus', 'opus', 'claude-x-opus'], ['claude-x']],
    [[], [], ['image', 'opus']],
  ])('%j allows %j and refuses %j', (allowed, can, cannot) => {
    for (const name of can) {
      expect(findModel(config, name, allowed).model).toBeDefined();
      expect(publishModel(config, name, allowed)).toMatchObject({ id: name });
    }
    for (const name of cannot) {
      expect(() => findModel(config, name, allowed)).toThrow(refused);
      expect(() => publishModel(config, name, allowed)).toThrow(missing);
    }
  });

  const NAMES = [
    ...['claude-opus', 'opus', 'gpt-opus', 'claude-x', 'claude-haiku-3', 'a-large'],
    ...['vendor/x', 'image', 'picture', 'other'],
  ];
  const ITEMS = [...NAMES, 'claude-*', '*', 'gpt-*', '*opus', 'vendor/*', 'claude-haiku-*'];

  it('allows all names of a model without a wildcard, or none', () => {
    fc.assert(
      fc.property(fc.subarray(ITEMS), (allowed) => {
        const can = (name: string) => {
          return valueOr(() => findModel(config, name, allowed).model !== undefined, false);
        };
        expect(can('opus')).toBe(can('claude-opus'));
        expect(can('gpt-opus')).toBe(can('claude-opus'));
        expect(can('picture')).toBe(can('image'));
        // What is listed can be retrieved, and what has no wildcard can be requested.
        for (const { id } of publishModels(config, allowed).data) {
          expect(publishModel(config, id, allowed).id).toBe(id);
          if (!id.includes('*')) expect(can(id)).toBe(true);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('the catalog', () => {
  it('lists models with aliases and wildcards, and what a key may use of a wildcard', () => {
    const listed = (allowed: readonly string[] | null) =>
      publishModels(config, allowed).data.map(({ id, root, aliases }) => [id, root, ...aliases]);
    expect(listed(null)).toEqual([
      ['claude-opus', 'claude-opus', 'opus', 'gpt-opus'],
      ['claude-*', 'claude-*'],
      ['claude-haiku-*', 'claude-haiku-*'],
      ['*-large', '*-large'],
      ['vendor/*', 'vendor/*'],
      ['image', 'image', 'picture'],
    ]);
    expect(listed(['picture', 'claude-x', 'vendor/a*', 'gone'])).toEqual([
      ['image', 'image', 'picture'],
      ['claude-x', 'claude-*'],
    ]);
    expect(publishModel(config, 'opus', null)).toMatchObject({ id: 'opus', root: 'claude-opus' });
    expect(publishModel(config, 'claude-*', null)).toMatchObject({ id: 'claude-*' });
  });

  it.each([
    ['claude-*', 'claude-x', true],
    ['*', '', true],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['plain', 'plain', true],
    ['plain', 'plain2', false],
    ['**', 'x', true],
  ])('the pattern %s matches %s: %s', (pattern, name, matches) => {
    expect(matchesPattern(pattern, name)).toBe(matches);
  });
});

const text = (upstream: string, more = '') =>
  `{ type: text, routes: [{ provider: p, model: "${upstream}" }]${more} }`;

const file = (models: string) => `providers: { p: { kind: sandbox } }\nmodels:\n${models}`;

it.each([
  [
    'an alias that is a model',
    `  a: ${text('x')}\n  b: ${text('y', ', aliases: [a]')}\n`,
    ['4: models.b.aliases[0]: expected a name that no model has, received "a", which is models.a'],
  ],
  [
    'an alias of two models',
    `  a: ${text('x', ', aliases: [c]')}\n  b: ${text('y', ', aliases: [c]')}\n`,
    [
      '4: models.b.aliases[0]: expected a name that no model has, received "c", which is models.a.aliases[0]',
    ],
  ],
  [
    'an alias of a wildcard',
    `  a-*: ${text('*', ', aliases: [b]')}\n`,
    ['3: models["a-*"].aliases: a model with a * in its identifier has none'],
  ],
  [
    'an alias with a wildcard',
    `  a: ${text('x', ', aliases: ["c-*"]')}\n`,
    [
      '3: models.a.aliases[0]: expected a name of letters, digits and . _ : / @ + -, 128 at most, received "c-*"',
    ],
  ],
  [
    'wildcards of one length that match the same names',
    `  a-*: ${text('*')}\n  "*-b": ${text('*')}\n`,
    [
      '4: models["*-b"]: some names match it and models["a-*"], and neither is longer: make one of them longer',
    ],
  ],
  [
    'a wildcard of another type',
    '  a-*: { type: image, routes: [{ provider: p, model: x }] }\n',
    [],
  ],
  [
    'a wildcard in a route alone',
    `  a: ${text('x-*')}\n`,
    [
      "3: models.a.routes[0].model: there is no * in the model's identifier, a, that the * could stand for",
    ],
  ],
  [
    'two wildcards in a route',
    `  a-*: ${text('*-*')}\n`,
    ['3: models["a-*"].routes[0].model: expected one * at most'],
  ],
  ['wildcards that no name matches both', `  a-*: ${text('*')}\n  b-*: ${text('*')}\n`, []],
])('config check reports %s', async (_, models, faults) => {
  expect(await faultsOf(file(models))).toEqual(faults);
});

it('config check refuses an identifier with two wildcards', async () => {
  const [fault] = await faultsOf(file(`  a-*-*: ${text('*')}\n`));
  expect(fault).toContain('one * at most');
});
