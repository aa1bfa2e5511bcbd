import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { interpolate } from '../../../src/config/yaml/interpolate.ts';
import { faultsOf, load } from '../configuration.ts';

const ENV = { NAME: 'value', EMPTY: '', _x9: 'odd', NESTED: '${NAME}', DOLLARS: '$& $1 $$ $`' };

describe('interpolate', () => {
  it.each([
    ['${NAME}', 'value'],
    ['a ${NAME} b ${_x9}', 'a value b odd'],
    ['${EMPTY}', ''],
    ['${EMPTY:-preset}', 'preset'],
    ['${UNSET:-preset}', 'preset'],
    ['${NAME:-preset}', 'value'],
    ['${UNSET:-}', ''],
    ['${UNSET:-a:-b $ c}', 'a:-b $ c'],
    ['${UNSET:-two\nlines}', 'two\nlines'],
    ['$${NAME}', '${NAME}'],
    ['$$${NAME}', '$${NAME}'],
    ['$NAME $ $$ $5 {NAME}', '$NAME $ $$ $5 {NAME}'],
    // Values of variables are not interpolated again.
    ['${NESTED}', '${NAME}'],
    ['${DOLLARS}', '$& $1 $$ $`'],
  ])('replaces %j by %j', (text, result) => {
    expect(interpolate(text, ENV)).toMatchObject({ text: result, missing: [], malformed: false });
  });

  it.each([
    '${',
    '${NAME',
    '${}',
    '${1A}',
    '${NA ME}',
    '${NAME-x}',
    '${NAME:?x}',
    '${A:-${B}}',
    '${ NAME }',
  ])('reports %j as malformed', (text) => {
    expect(interpolate(text, ENV).malformed).toBe(true);
  });

  it('returns the variables of the text and the missing ones', () => {
    expect(interpolate('${A} ${NAME} ${B} ${C:-c}', ENV)).toEqual({
      text: ' value  c',
      variables: ['A', 'NAME', 'B', 'C'],
      missing: ['A', 'B'],
      malformed: false,
    });
  });

  it('ignores inherited properties of the environment', () => {
    expect(interpolate('${toString}${constructor}', {}).missing).toEqual([
      'toString',
      'constructor',
    ]);
  });

  it('returns escaped text unchanged', () => {
    const pieces = fc.array(fc.constantFrom('$', '{', '}', 'NAME', ':-', 'x', '${NAME}', '\n'));
    fc.assert(
      fc.property(pieces, (parts) => {
        const text = parts.join('');
        const escaped = text.replaceAll('${', () => '$${');
        expect(interpolate(escaped, ENV)).toMatchObject({ text, variables: [], malformed: false });
      }),
    );
  });

  it('inserts any value as it is', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (before, value) => {
        fc.pre(!before.includes('$'));
        expect(interpolate(`${before}\${V}`, { V: value }).text).toBe(before + value);
      }),
    );
  });
});

describe('environment variables in a configuration', () => {
  it('are converted to the types of their settings', () => {
    const { config } = load(
      'pool: { threads: "${THREADS}" }\nmetrics: { enabled: "${ON}" }\nserver: { trustProxy: "${TRUST:-true}", port: "1${ZERO}", grace: "${GRACE}" }\nowner:\n  credits: ${CREDITS}\n',
      { THREADS: '3', ON: 'false', ZERO: '0', GRACE: '5s', CREDITS: '2.5' },
    );
    expect(config).toMatchObject({
      pool: { threads: 3 },
      metrics: { enabled: false },
      server: { trustProxy: true, port: 10, grace: 5000 },
      owner: { credits: 2_500_000 },
    });
  });

  it('cannot add settings', () => {
    const value = 'x\nserver: { port: 1 }\nb: "${OTHER}" # *a &b !!c';
    const { config } = load('metrics: { token: "${TOKEN}" }', { TOKEN: value, OTHER: 'y' });
    expect(config.metrics.token).toBe(value);
    expect(config.server.port).toBe(8787);
  });

  it('are not needed: a quoted number stays a text', async () => {
    expect(await faultsOf('pool: { threads: "3" }')).toEqual([
      '1: pool.threads: expected an integer from 1 to 256, received "3"',
    ]);
  });

  it('that are unset or malformed are reported by path and name', async () => {
    const yaml =
      'dataDir: ${UNSET_A}/${UNSET_B}\nserver:\n  port: ${UNSET_A}\n  host: ${oops\nproviders: { x: { kind: openai, baseUrl: "https://x.example", apiKey: "${UNSET_KEY}" } }';
    expect(await faultsOf(yaml)).toEqual([
      '1: dataDir: the environment variable UNSET_A is not set',
      '1: dataDir: the environment variable UNSET_B is not set',
      '3: server.port: the environment variable UNSET_A is not set',
      '4: server.host: expected ${NAME} or ${NAME:-default}; for ${ itself write $${',
      '5: providers.x.apiKey: the environment variable UNSET_KEY is not set',
    ]);
  });

  it('are not replaced in names of settings', async () => {
    expect(await faultsOf('"${NAME}": 1', { NAME: 'server' })).toEqual([
      expect.stringMatching(/^1: \["\$\{NAME\}"\]: unknown/),
    ]);
  });

  it('that are empty are a fault as the key of a used provider', async () => {
    const providers =
      'providers:\n  used: { kind: openai, baseUrl: "https://x.example", apiKey: "${KEY:-}" }\n  idle: { kind: openai, baseUrl: "https://x.example", apiKey: "${KEY:-}" }\n';
    const models = 'models: { m: { type: text, routes: [{ provider: used, model: a }] } }';
    expect(await faultsOf(providers + models)).toEqual([
      '2: providers.used.apiKey: empty; leave it out if the provider requires none',
    ]);
    const { config } = load(providers + models, { KEY: 'k' });
    expect(config.providers['used']).toMatchObject({ apiKey: 'k' });
  });
});

describe('without the environment of providers', () => {
  const provider = (settings: string) => `
providers: { far: { kind: openai, baseUrl: "https://a.example/v1", ${settings} } }
models: { m: { type: text, routes: [{ provider: far, model: "\${MODEL:-m}" }] } }`;
  const ENVIRONMENT = { SET: 'https://set.example' };

  it.each([
    ['apiKey: "${KEY}"', { apiKey: 'unset-KEY' }],
    ['apiKeys: ["${A}", "${B}"]', { apiKeys: ['unset-A', 'unset-B'] }],
    ['apiKey: "${KEY:-none}"', { apiKey: 'none' }],
    ['headers: { "x-id": "of ${ID}" }', { headers: { 'x-id': 'unset-ID' } }],
    ['proxy: "${PROXY}"', { proxy: 'http://unset.invalid' }],
    ['proxy: "http://${USER_NAME}:8080"', { proxy: 'http://unset.invalid' }],
    ['proxy: "${SET}"', { proxy: 'https://set.example' }],
  ])('a replay loads %s', (settings, expected) => {
    const { config } = load(provider(settings), ENVIRONMENT, { isReplay: true });
    expect(config.providers['far']).toMatchObject(expected);
    if (/\$\{(?!SET|KEY:)/.test(settings)) {
      expect(() => load(provider(settings), ENVIRONMENT)).toThrow('is not set');
    }
  });

  it('a replay still needs the variables of other settings', () => {
    const source = `${provider('apiKey: "${KEY}"')}\nmetrics: { token: "\${TOKEN}" }`;
    const replay = { isReplay: true };
    expect(() => load(source, {}, replay)).toThrow(/^\S+:4: metrics.token: .* TOKEN is not set$/);
    const without = [['metrics']];
    expect(load(source, {}, { ...replay, without }).config.metrics.token).toBeUndefined();
  });
});
