import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import { findModel } from '../../../src/config/catalog/catalog.ts';
import { loadConfig } from '../../../src/config/loading/load.ts';
import { mergeStored, placeInFile, withStored } from '../../../src/config/stored/merge-stored.ts';
import type { ConfigEntry } from '../../../src/store/config-entry.ts';
import { temporaryFolder } from '../../oriel.ts';
import '../../../src/text/built-in-dialects.ts';

const FILE = `
providers:
  filed: { kind: sandbox }
  empty: { kind: openai, apiKey: "" }
models:
  known:
    type: text
    aliases: [alias]
    routes: [{ provider: filed, model: m }]
`;

const entryOf = (kind: ConfigEntry['kind'], name: string, settings: object): ConfigEntry => ({
  ...{ id: name, kind, name, hint: null, secrets: null, createdAt: 1, changedAt: 1 },
  settings: settings as ConfigEntry['settings'],
});
const provider = (name: string, settings: object = { kind: 'sandbox' }) =>
  entryOf('provider', name, settings);
const model = (name: string, providers: readonly string[], more: object = {}) =>
  entryOf('model', name, {
    ...{ type: 'text', routes: providers.map((one) => ({ provider: one, model: 'm' })) },
    ...more,
  });

const PREFIX = { aliases: ['second'] };

function merged(entries: readonly ConfigEntry[], source = FILE) {
  const file = join(temporaryFolder(), 'oriel.yaml');
  writeFileSync(file, source);
  const loaded = loadConfig({ file, env: {}, cwd: '/' });
  const stored = mergeStored(loaded, entries, '/nowhere/secret.key');
  return { loaded, stored, config: withStored(loaded.config, stored) };
}

it('offers the file and the store, and says where the file has a name', () => {
  const { loaded, stored, config } = merged([
    provider('mine'),
    model('new', ['mine', 'filed'], { aliases: ['alias', 'own'] }),
  ]);
  expect([...stored.faults]).toEqual([]);
  expect(Object.keys(config.providers).toSorted()).toEqual(['empty', 'filed', 'mine']);
  // The file has the other alias.
  expect(config.models['new']!.aliases).toEqual(['own']);
  expect(findModel(config, 'alias', null).id).toBe('known');
  expect(placeInFile(loaded, 'model', 'known')).toBe('oriel.yaml:6');
  expect(placeInFile(loaded, 'model', 'new')).toBeNull();
});

const SEALED = { secrets: { keyId: 'k', data: 'AAAA' } };

test.each<[string, ConfigEntry[], string, RegExp]>([
  ['a name of the file', [model('known', ['filed'])], 'model known', /has oriel.yaml:6$/],
  ['an alias of the file', [model('alias', ['filed'])], 'model alias', /as an alias$/],
  ['a provider of the file', [provider('filed')], 'provider filed', /has oriel.yaml:3$/],
  ['a missing provider', [model('new', ['gone'])], 'model new', /no provider "gone"/],
  ['a provider with an empty key', [model('new', ['empty'])], 'model new', /empty.apiKey: empty/],
  ['an unknown setting', [model('new', ['filed'], { speed: 1 })], 'model new', /speed: unknown/],
  [
    'an alias of another',
    [model('new', ['filed'], PREFIX), model('second', ['filed'])],
    'model new',
    /received "second"/,
  ],
  [
    'nothing that this version knows',
    [entryOf('model', 'new', undefined as never)],
    'model new',
    /no provider/,
  ],
  ['a kind of no version', [provider('new', { kind: 'later' })], 'provider new', /kind: expected/],
  ['a name with a meaning', [provider('constructor')], 'provider constructor', /cannot be used/],
  [
    'a huge price',
    [model('new', ['filed'], { price: { input: 1e300 } })],
    'model new',
    /price.input: expected/,
  ],
  [
    'a lost key',
    [{ ...provider('new', { kind: 'openai' }), ...SEALED }],
    'provider new',
    /^\/nowhere\/secret.key is missing/,
  ],
  [
    'a provider with a lost key',
    [{ ...provider('p', { kind: 'openai' }), ...SEALED }, model('new', ['p'])],
    'model new',
    /provider p is unavailable: \/nowhere/,
  ],
])('leaves out an entry with %s, and nothing else', (_, entries, name, reason) => {
  const { stored, config } = merged([...entries, provider('other'), model('good', ['other'])]);
  expect(stored.faults.get(name)?.reason).toMatch(reason);
  expect(Object.keys(config.models)).toEqual(expect.arrayContaining(['good', 'known']));
  expect(config.models['known']!.routes[0]!.provider).toBe('filed');
  expect(config.providers['filed']).toEqual({ kind: 'sandbox', concurrency: 8 });
});

it('uses the other routes of a model with a provider at fault', () => {
  const lost = { ...provider('lost', { kind: 'openai' }), ...SEALED };
  const { config } = merged([lost, model('new', ['lost', 'filed'])]);
  expect(config.models['new']!.routes).toMatchObject([{ provider: 'filed' }]);
});

it('tells clients of a model at fault that it is unavailable', () => {
  const { config } = merged([model('new', ['gone'], { aliases: ['fresh'] })]);
  for (const name of ['new', 'fresh']) {
    expect(() => findModel(config, name, null)).toThrow(
      expect.objectContaining({ code: 'model_unavailable', status: 503 }),
    );
  }
  expect(() => findModel(config, 'other', null)).toThrow('there is no model "other"');
});

it('takes the place of the sandbox with the first model', () => {
  const own = [provider('sandbox'), model('new', ['sandbox'])];
  expect(Object.keys(merged(own.slice(0, 1), '').config.models)).toContain('sandbox-chat');
  const { config } = merged(own, '');
  expect(Object.keys(config.models)).toEqual(['new']);
  // Clients of a model at fault get an error, not the sandbox.
  expect(merged([model('new', ['gone'])], '').config.models).toEqual({});
});
