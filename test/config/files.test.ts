import '../../src/text/built-in-dialects.ts';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { configJsonSchema } from '../../src/config/loading/print.ts';
import { configSchema } from '../../src/config/settings/schema.ts';
import { describeField } from '../../src/schema/fields.ts';
import { childrenOf, declaredProperties } from '../../src/schema/walk.ts';
import { oriel, ROOT } from '../oriel.ts';
import { load } from './configuration.ts';

const DEFAULTS = readFileSync(join(ROOT, 'config', 'default.yaml'), 'utf8');
const SANDBOX = readFileSync(join(ROOT, 'config', 'sandbox.json'), 'utf8');

/** The default file with its commented-out settings, without their comment signs. */
const uncommented = DEFAULTS.replace(/^.*\n/, '').replace(
  /^( *)# ( *(?:[a-z][A-Za-z0-9_*-]*:|- ).*)$/gm,
  '$1$2',
);

/** Loads settings without those that depend on the path of the file. */
function portable(contents: string, env: Record<string, string> = {}) {
  const { dataDir, cassettes, ...config } = load(contents, env).config;
  expect(dataDir).toMatch(/\/data$/);
  expect(cassettes).toMatchObject({ mode: 'off', dir: expect.stringMatching(/\/cassettes$/) });
  return config;
}

describe('default.yaml', () => {
  it('loads as the defaults', () => {
    expect(portable(DEFAULTS)).toEqual(portable(''));
  });

  it('begins with the schema comment for editors', () => {
    expect(DEFAULTS).toMatch(/^# yaml-language-server: \$schema=\.\/oriel\.schema\.json\n/);
  });

  it('has every setting, with its default if there is one', () => {
    const lines = uncommented.split('\n');
    for (const { path, schema } of declaredProperties(configSchema)) {
      const indent = '  '.repeat(path.length - 1);
      const preset = describeField('', schema).default;
      const value = typeof preset === 'object' || preset === undefined ? '' : ` ${preset}`;
      const found = lines.filter((line) => line.startsWith(`${indent}${path.at(-1)}:${value}`));
      expect(found, path.join('.')).not.toEqual([]);
    }
  });

  it('shows every setting of providers and models in valid examples', () => {
    const env = {
      OPENAI_API_KEY: 'a',
      ANTHROPIC_API_KEY: 'b',
      AZURE_OPENAI_API_KEY: 'e',
      GEMINI_API_KEY: 'f',
      OTHER_KEY: 'c',
      OPENAI_API_KEY_2: 'e',
      METRICS_TOKEN: 'd',
      OTLP_TOKEN: 'g',
      S3_ACCESS_KEY_ID: 'h',
      S3_SECRET_ACCESS_KEY: 'i',
      S3_SESSION_TOKEN: 'j',
      REDIS_PASSWORD: 'h',
      POSTGRES_PASSWORD: 'k',
    };
    const shared = uncommented
      .replace('driver: disk', 'driver: s3')
      .replace('driver: lowdb', 'driver: postgres');
    const { providers, models, pool, metrics, assets, store } = portable(shared, env);
    expect(store.url).toBe('postgres://oriel:k@127.0.0.1:5432/oriel');
    expect(assets).toMatchObject({ accessKeyId: 'h', secretAccessKey: 'i', sessionToken: 'j' });
    expect(Object.values(providers).map(({ kind }) => kind)).toEqual([
      'openai',
      'anthropic',
      'gemini',
      'oriel',
      'azure',
      'bedrock',
      'vertex',
      'sandbox',
    ]);
    expect(pool.threads).toBe(4);
    expect(metrics.token).toBe('d');
    const shown = JSON.stringify(models);
    const records = childrenOf(configSchema, {}) as { entries: Record<string, never> };
    for (const type of ['text', 'image', 'video', 'audio', 'moderation']) {
      const { each } = childrenOf(records.entries['models']!, {}) as { each: never };
      for (const { path } of declaredProperties({
        ...(each as object),
        ...variant(each, type),
      } as never)) {
        expect(shown, `${type}.${path.join('.')}`).toContain(`"${path.at(-1)}":`);
      }
    }
  });

  /** The option of a variant for a type. */
  function variant(schema: never, type: string): object {
    return childrenOf(schema, { type }) as object;
  }

  it('has a comment above every setting', () => {
    const lines = DEFAULTS.split('\n');
    for (const [index, line] of lines.entries()) {
      if (!/^ *(# )?[a-zA-Z]+: \S/.test(line) || /^ *# {2,}/.test(line)) continue;
      if (index > lines.indexOf('providers:')) break;
      expect(lines[index - 1], line).toMatch(/^ *# /);
    }
  });

  it('marks settings that take effect at the next start', () => {
    const marked = new Set<string>();
    const stack: string[] = [];
    let comment = '';
    for (const line of uncommented.split('\n')) {
      const [, indent, name] = /^( *)([A-Za-z]+):/.exec(line) ?? [];
      if (line.trimStart().startsWith('#')) comment += line;
      else comment = name ? comment : '';
      if (name === undefined) continue;
      stack.length = indent!.length / 2;
      stack.push(name);
      if (comment.includes('(restart)') && !comment.includes('settings marked')) {
        marked.add(stack.join('.'));
      }
      comment = '';
    }
    const restart = declaredProperties(configSchema)
      .filter(({ schema }) => JSON.stringify(schema, replacePipes).includes('"restart":true'))
      .map(({ path }) => path.join('.'));
    expect([...marked].sort()).toEqual(restart.sort());
  });

  /** A replacer that leaves out the settings within a setting. */
  function replacePipes(key: string, value: unknown): unknown {
    return key === 'entries' ? undefined : value;
  }
});

describe('sandbox.json', () => {
  it('is the catalog of a configuration without providers and models', () => {
    const bare = portable('server: { port: 1 }');
    const { providers, models } = portable(SANDBOX);
    expect(bare).toMatchObject({ providers, models, server: { port: 1 } });
    expect(Object.keys(models)).toEqual([
      'sandbox-chat',
      'sandbox-reasoner',
      'sandbox-embedding',
      'sandbox-rerank',
      'sandbox-image',
      'sandbox-image-any',
      'sandbox-video',
      'sandbox-audio',
      'sandbox-transcription',
      'sandbox-moderation',
    ]);
    expect(models['sandbox-reasoner']).toMatchObject({ rules: 'fixed-reasoning' });
    expect(models['sandbox-image']).toMatchObject({ rules: 'native-size' });
  });

  it('describes each model as a sandbox and gives it a price', () => {
    for (const { description, price } of Object.values(portable(SANDBOX).models)) {
      expect(description).toMatch(/^A sandbox, not a real model\. /);
      expect(Math.max(...Object.values(price as Record<string, number>))).toBeGreaterThan(0);
    }
  });

  it('is not added to a configuration with providers or models', () => {
    expect(portable('providers: { mine: { kind: sandbox } }')).toMatchObject({
      providers: { mine: { kind: 'sandbox' } },
      models: {},
    });
    expect(portable('models: {}')).toMatchObject({ providers: {}, models: {} });
  });
});

describe('oriel.schema.json', () => {
  const file = JSON.parse(
    readFileSync(join(ROOT, 'config', 'oriel.schema.json'), 'utf8'),
  ) as unknown;

  it('is what npm run docs would write', () => {
    expect(file).toEqual(JSON.parse(JSON.stringify(configJsonSchema())));
  });

  it('is the output of config schema', async () => {
    const { status, out, stderr } = await oriel(['config', 'schema']);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(JSON.parse(out)).toEqual(file);
  });

  it('accepts the shipped files and rejects invalid settings', () => {
    const validate = new Ajv({ formats: { date: true } }).compile(file as object);
    for (const contents of [DEFAULTS, SANDBOX, uncommented]) {
      expect(validate(parse(contents)), JSON.stringify(validate.errors)).toBe(true);
    }
    for (const wrong of [
      { pol: 1 },
      { server: { port: 65_536 } },
      { server: { grace: 30 } },
      { batch: { memory: '64mb' } },
      { providers: { p: { kind: 'of-tomorrow' } } },
      { providers: { 'a b': { kind: 'sandbox' } } },
      { models: { m: { type: 'text', routes: [] } } },
      { models: { m: { type: 'video', routes: [{ provider: 'p' }] } } },
    ]) {
      expect(validate(wrong), JSON.stringify(wrong)).toBe(false);
    }
  });

  it('describes every setting, with keywords of JSON Schema only', () => {
    const words = new Set<string>();
    const visit = (node: Record<string, unknown>, path: string) => {
      for (const [word, value] of Object.entries(node)) {
        words.add(word);
        if (word === 'properties') {
          for (const [name, property] of Object.entries(value as Record<string, never>)) {
            const { description, const: constant } = property as Record<string, unknown>;
            expect(description ?? constant, `${path}.${name}`).toMatch(/./);
            visit(property, `${path}.${name}`);
          }
        } else if (word === 'items' || word === 'additionalProperties') {
          if (typeof value === 'object') visit(value as never, `${path}.*`);
        } else if (word === 'anyOf' || word === 'oneOf') {
          for (const option of value as never[]) visit(option, path);
        }
      }
    };
    visit(file as never, '');
    expect([...words].sort().join(' ')).toBe(
      '$schema additionalProperties anyOf const default description enum format items maxItems maxLength ' +
        'maximum minItems minLength minimum oneOf pattern properties propertyNames required title type',
    );
  });

  it('accepts durations and sizes by pattern, and variables for every setting', () => {
    const { properties } = file as {
      properties: Record<string, { properties: Record<string, { anyOf: { pattern: string }[] }> }>;
    };
    const patterns = (section: string, name: string) =>
      properties[section]!.properties[name]!.anyOf.map(({ pattern }) => pattern);
    const takes = (section: string, name: string, text: string) =>
      patterns(section, name).some((pattern) => pattern && new RegExp(pattern, 'u').test(text));
    expect(takes('server', 'grace', '30s')).toBe(true);
    expect(takes('server', 'grace', '30')).toBe(false);
    expect(takes('server', 'bodyLimit', '10MB')).toBe(true);
    expect(takes('server', 'port', '${PORT}')).toBe(true);
    expect(takes('log', 'level', '${LEVEL:-info}')).toBe(true);
  });
});
