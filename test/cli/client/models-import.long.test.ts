import {
  chmodSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { convertEntry } from '../../../src/config/import/map-entry.ts';
import { MODEL_TYPES } from '../../../src/config/providers/provider-kind.ts';
import { temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { runs } from '../../runs.ts';

const oriel = residentCommand();

const CONFIG = `# The providers of our team.
providers:
  anthropic: { kind: anthropic, baseUrl: https://anthropic.example/v1, apiKey: "\${UNSET_KEY}" }
  openai:
    kind: openai # the second one
    baseUrl: https://openai.example/v1

models:
  # Bought in advance, thus cheap.
  claude-old:
    type: text
    routes: [{ provider: anthropic, model: other }]
    price: { input: 1, output: 2 } # by contract
  mine: { type: text, aliases: [claude-named], routes: [{ provider: openai, model: x }] }
`;

const SONNET = {
  litellm_provider: 'anthropic',
  mode: 'chat',
  input_cost_per_token: 3e-6,
  output_cost_per_token: 1.5e-5,
  cache_read_input_token_cost: 3e-7,
  cache_creation_input_token_cost: 3.75e-6,
  cache_creation_input_token_cost_above_1hr: 6e-6,
  max_input_tokens: 200_000,
  max_output_tokens: 64_000,
  max_tokens: 64_000,
  supports_reasoning: true,
  supports_vision: true,
};

const MAP = {
  sample_spec: { mode: 'one of: chat, embedding' },
  'claude-sonnet': SONNET,
  'anthropic/claude-sonnet': SONNET,
  'anthropic/claude-tiered': {
    ...SONNET,
    input_cost_per_token_above_200k_tokens: 6e-6,
    max_input_tokens: 1_000_000,
    supports_reasoning: false,
  },
  'claude-old': { ...SONNET, supports_reasoning: false },
  'claude-named': SONNET,
  'claude-embed': { litellm_provider: 'anthropic', mode: 'embedding' },
  'gpt-x': {
    litellm_provider: 'openai',
    mode: 'responses',
    input_cost_per_token: '1e-06',
    output_cost_per_token: 4e-6,
  },
};

interface Place {
  readonly file: string;
  read(): string;
  run(map: unknown, ...flags: string[]): ReturnType<typeof oriel>;
}

function place(config: string = CONFIG): Place {
  const folder = temporaryFolder();
  const file = join(folder, 'oriel.yaml');
  writeFileSync(file, config);
  return {
    file,
    read: () => readFileSync(file, 'utf8'),
    run(map, ...flags) {
      const path = join(folder, 'prices.json');
      writeFileSync(path, typeof map === 'string' ? map : JSON.stringify(map));
      return oriel(words`models import ${path} --config ${file} ${flags}`);
    },
  };
}

describe('models import', () => {
  it('adds models of a provider, and keeps comments and existing entries', async () => {
    const { run, read } = place();
    const { status, out, stderr } = await run(MAP, '--provider', 'anthropic');
    expect(status).toBe(0);
    expect(stderr).toContain('2 models were added and 0 updated');
    expect(stderr).toContain(
      'skipped 1 with the map has claude-sonnet twice, 1 with no input_cost_per_token',
    );
    expect(out).toMatch(/claude-sonnet +add +text +3 +0\.3 +3\.75 +6 +15 +- +-\n/);
    expect(out).toMatch(/claude-tiered +add .* tiers \[\{"above":200000,"input":6\}\] +-\n/);
    expect(out).toMatch(/claude-old +keep .*price\.input 1 -> 3; price\.cachedInput unset -> 0\.3/);
    expect(out).toMatch(/claude-named +keep .*an alias of mine/);
    expect(read()).toBe(
      `${CONFIG}  claude-sonnet:
    type: text
    routes: [ { provider: anthropic, model: claude-sonnet } ]
    reasoning: { supported_efforts: [ none, low, medium, high ], default_effort: medium, can_disable: true }
    maxOutputTokens: 64000
    contextWindow: 200000
    price: { input: 3, cachedInput: 0.3, cacheWrite: 3.75, cacheWrite1h: 6, output: 15 }
  claude-tiered:
    type: text
    routes: [ { provider: anthropic, model: claude-tiered } ]
    maxOutputTokens: 64000
    contextWindow: 1000000
    price: { input: 3, cachedInput: 0.3, cacheWrite: 3.75, cacheWrite1h: 6, output: 15, tiers: [ { above: 200000, input: 6 } ] }
`,
    );
  });

  it('shows changes as JSON without writing them by --dry-run', async () => {
    const { run, read } = place();
    const { status, out } = await run(MAP, '--provider', 'openai', '--dry-run', '--json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      written: false,
      provider: 'openai',
      models: [
        { id: 'gpt-x', action: 'add', settings: { price: { input: 1, output: 4 } }, notes: [] },
      ],
    });
    expect(read()).toBe(CONFIG);
  });

  it('changes prices and limits of existing models by --update alone', async () => {
    const { run, read } = place();
    const flags = words`--provider anthropic --models claude-old --credits-per-unit 100`;
    const { status, stderr } = await run(MAP, ...flags, '--update');
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: expect.stringContaining('0 models were added and 1 updated') as string,
    });
    expect(read()).toContain('# Bought in advance, thus cheap.');
    expect(read()).toContain('model: other');
    expect(read()).toMatch(
      /price: \{ input: 300, output: 1500, cachedInput: 30, cacheWrite: 375, cacheWrite1h: 600 \} # by contract/,
    );
    const again = await run(MAP, ...flags, '--update', '--json');
    expect(JSON.parse(again.out)).toMatchObject({ written: false, models: [{ action: 'same' }] });
  });

  it('keeps the mode of the file, and a link a link', async () => {
    const { run, file } = place();
    const folder = temporaryFolder();
    const link = join(folder, 'oriel.yaml');
    symlinkSync(file, link);
    chmodSync(file, 0o640);
    const flags = ['--provider', 'openai', '--config', link];
    expect((await run(MAP, ...flags)).status).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(readFileSync(file, 'utf8')).toContain('gpt-x');
    expect(readdirSync(folder)).toEqual(['oriel.yaml']);
  });

  it('creates the list of models where the file has none', async () => {
    for (const models of ['', 'models:\n', 'models: {}\n', 'models: null # none yet\n']) {
      const config = `providers: { p: { kind: openai, baseUrl: https://a.example/v1 } }\n${models}`;
      const { run, read, file } = place(config);
      const { status, stderr } = await run(MAP, '--from', 'openai');
      expect({ status, stderr }).toMatchObject({ status: 0 });
      expect(read()).toContain('\n  gpt-x:\n');
      expect((await oriel(['config', 'check', file])).status).toBe(0);
    }
  });
});

const GEMINI = {
  mode: 'chat',
  input_cost_per_token: 1.25e-6,
  input_cost_per_token_above_200k_tokens: 2.5e-6,
  output_cost_per_token: 1e-5,
  output_cost_per_token_above_200k_tokens: 1.5e-5,
  cache_read_input_token_cost: 1.25e-7,
  cache_read_input_token_cost_above_200k_tokens: 2.5e-7,
  cache_creation_input_token_cost_above_1hr_above_200k_tokens: 1.2e-5,
  input_cost_per_token_above_200k_tokens_priority: 4.5e-6,
};
const RANGES = [
  { range: [0, 256_000.0], input_cost_per_token: 5e-8, output_cost_per_token: 4e-7 },
  { range: [256_000.0, 1e6], input_cost_per_token: 2.5e-7, output_cost_per_token: 2e-6 },
];
const EMBEDDING = { mode: 'embedding', input_cost_per_token: 1.3e-7, output_cost_per_token: 0 };

describe('models import of a mode', () => {
  const convert = (name: string, value: object) => {
    const entry = { name, provider: 'openai', mode: '', ...value, value: { ...value } };
    return convertEntry(entry, 100, MODEL_TYPES);
  };

  it.each<[title: string, value: object, model: object, notes?: string[]]>([
    [
      'chat with tiers by costs above a number of tokens',
      GEMINI,
      {
        type: 'text',
        price: {
          input: 125,
          cachedInput: 12.5,
          output: 1000,
          tiers: [
            { above: 200_000, input: 250, cachedInput: 25, cacheWrite1h: 1200, output: 1500 },
          ],
        },
      },
      ['not imported: input_cost_per_token_above_200k_tokens_priority'],
    ],
    [
      'chat with tiers by ranges',
      { mode: 'chat', tiered_pricing: RANGES, max_input_tokens: 1_000_000 },
      {
        type: 'text',
        price: { input: 5, output: 40, tiers: [{ above: 256_000, input: 25, output: 200 }] },
        contextWindow: 1_000_000,
      },
    ],
    [
      'chat whose costs are 0 in the map',
      { mode: 'chat', input_cost_per_token: 0, output_cost_per_token: 0 },
      { type: 'text', price: { input: 0, output: 0 } },
      ['free'],
    ],
    [
      'embedding',
      { ...EMBEDDING, output_vector_size: 3072, max_input_tokens: 8191, max_tokens: 8191 },
      { type: 'embedding', price: { input: 13 }, dimensions: 3072, contextWindow: 8191 },
    ],
    [
      'image_generation by images',
      { mode: 'image_generation', output_cost_per_image: 0.04 },
      { type: 'image', price: { perImage: 4 } },
    ],
    [
      'video_generation by seconds',
      { mode: 'video_generation', output_cost_per_video_per_second: 0.1 },
      { type: 'video', price: { perSecond: 10 } },
    ],
    [
      'moderation without a cost',
      { mode: 'moderation', input_cost_per_token: 0.0, output_cost_per_token: 0.0 },
      { type: 'moderation', price: { perRequest: 0 } },
      ['free'],
    ],
    [
      'speech without a cost',
      { mode: 'audio_speech', input_cost_per_character: 0 },
      { type: 'audio', price: { perRequest: 0 } },
      ['free'],
    ],
    [
      'a transcription without a cost',
      { mode: 'audio_transcription', input_cost_per_second: 0, output_cost_per_second: 0 },
      { type: 'transcription', price: { perRequest: 0 } },
      ['free'],
    ],
  ])('%s', (_, value, model, notes = []) => {
    expect(convert('m', value)).toEqual({ model, notes, faults: [] });
  });

  it.each<[value: object, reason: string, name?: string]>([
    [{}, 'no mode'],
    [{ mode: 'completion', input_cost_per_token: 1e-6 }, 'mode completion'],
    [{ mode: 'rerank', input_cost_per_query: 0.002 }, 'mode rerank'],
    [
      { mode: 'audio_speech', input_cost_per_character: 1.5e-5 },
      'mode audio_speech, priced by input_cost_per_character',
    ],
    [
      { mode: 'audio_transcription', input_cost_per_second: 1e-4 },
      'mode audio_transcription, priced by input_cost_per_second',
    ],
    [{ mode: 'realtime', input_cost_per_token: 1e-6 }, 'mode realtime'],
    [{ mode: 'constructor' }, 'mode constructor'],
    [{ mode: 'chat' }, 'no input_cost_per_token'],
    [{ mode: 'chat', input_cost_per_token: 1e-6 }, 'no output_cost_per_token'],
    [{ mode: 'chat', input_cost_per_character: 1e-6 }, 'no input_cost_per_token'],
    [
      {
        mode: 'chat',
        input_cost_per_token: 0,
        output_cost_per_token: 0,
        input_cost_per_request: 0.005,
      },
      'a price by input_cost_per_request alone',
    ],
    [{ mode: 'embedding', input_cost_per_image: 1e-4 }, 'no input_cost_per_token'],
    [
      { ...EMBEDDING, input_cost_per_token: 0, input_cost_per_second: 1e-4 },
      'a price by input_cost_per_second alone',
    ],
    [{ mode: 'image_generation', input_cost_per_pixel: 1.9e-8 }, 'no output_cost_per_image'],
    [{ mode: 'image_generation', input_cost_per_token: 5e-6 }, 'no output_cost_per_image'],
    [
      { mode: 'image_generation', output_cost_per_image: 0.04 },
      'a price for one size or quality',
      'hd/1024-x-1792/dall-e-3',
    ],
    [{ mode: 'video_generation' }, 'no output_cost_per_video_per_second'],
    [{ mode: 'moderation' }, 'no cost'],
    [
      { mode: 'moderation', input_cost_per_token: 1e-6 },
      'mode moderation, priced by input_cost_per_token',
    ],
  ])('leaves out %j', (value, reason, name = 'm') => {
    expect(convert(name, value)).toBe(reason);
  });

  it.each([
    [{ ...GEMINI, output_cost_per_token_above_200k_tokens: -1 }, '_above_200k_tokens: expected'],
    [{ mode: 'chat', tiered_pricing: 3 }, 'tiered_pricing[0]: expected costs with a range'],
    [{ mode: 'chat', tiered_pricing: [] }, 'tiered_pricing: expected ranges from 0 on'],
    [
      { mode: 'chat', tiered_pricing: RANGES.toReversed() },
      'tiered_pricing: expected ranges from 0 on, the smallest first',
    ],
    [
      { mode: 'chat', tiered_pricing: [{ range: [0], input_cost_per_token: 'x' }] },
      'tiered_pricing[0].input_cost_per_token: expected a number',
    ],
    [{ mode: 'image_generation', output_cost_per_image: -4 }, '_image: expected a number'],
  ])('refuses %j', (value, fault) => {
    expect(convert('m', value)).toMatchObject({ faults: [expect.stringContaining(fault)] });
  });

  it('is written as valid models, and left out by type or name with its reason', async () => {
    const { run, read, file } = place();
    const openai = (value: object) => ({ litellm_provider: 'openai', ...value });
    const map = {
      'gpt-t': openai(GEMINI),
      'embed-3': openai({ ...EMBEDDING, output_vector_size: 1536 }),
      'pictures-1': openai({ mode: 'image_generation', output_cost_per_image: 0.04 }),
      'sora-x': openai({ mode: 'video_generation', output_cost_per_video_per_second: 0.1 }),
      'guard-1': openai({ mode: 'moderation', input_cost_per_token: 0, output_cost_per_token: 0 }),
      'tts-1': openai({ mode: 'audio_speech', input_cost_per_character: 1.5e-5 }),
      'claude-e': { ...EMBEDDING, litellm_provider: 'anthropic' },
    };
    const dry = await run(map, '--provider', 'openai', '--dry-run');
    expect(dry.out).toMatch(
      /^tts-1 +skip .* mode audio_speech, priced by input_cost_per_character$/m,
    );
    expect(dry.out).toMatch(/^pictures-1 +add +image .* perImage 0\.04 +-$/m);
    expect(read()).toBe(CONFIG);
    const { status, stderr } = await run(map, '--provider', 'openai');
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(stderr).toContain('5 models were added');
    expect((await oriel(['config', 'check', file], { env: { UNSET_KEY: 'x' } })).status).toBe(0);
    const again = await run(map, '--provider', 'openai', '--json');
    const { models } = JSON.parse(again.out) as { models: { action: string }[] };
    expect(models.map(({ action }) => action)).toEqual(['same', 'same', 'same', 'same', 'same']);
    const changed = { ...map, 'gpt-t': openai({ ...GEMINI, output_cost_per_token: 2e-5 }) };
    const updated = await run(changed, '--provider', 'openai', '--update');
    expect(updated.out).toMatch(/gpt-t +update .*price\.output 10 -> 20/);
    const other = await run(map, '--provider', 'anthropic', '--json');
    expect(JSON.parse(other.out)).toMatchObject({
      skipped: [{ reason: 'mode embedding, which the provider has no models of' }],
    });
  });
});

describe('models import refuses', () => {
  it.each([
    ['no JSON', '{', 'expected JSON'],
    ['a list', [], 'expected an object of models by name, received a list'],
    ['an entry that is no object', { a: 1 }, '"a": expected an object, received 1'],
    ['a name that is given twice', '{"a": {}, "b": {"a": 1}, "a": {}}', '"a": given twice'],
    ['a name by escapes twice', '{"a": {}, "\\u0061": {}}', '"a": given twice'],
    ['a name of prototypes', '{"__proto__": {}}', '"__proto__": this name cannot be used'],
    [
      'costs of wrong types',
      { a: { ...SONNET, input_cost_per_token: [1], output_cost_per_token: 'much' } },
      '"a".input_cost_per_token: expected a number of at least 0 for one token, received a list',
    ],
    [
      'a negative cost',
      { a: { ...SONNET, cache_read_input_token_cost: -1 } },
      '"a".cache_read_input_token_cost: expected a number of at least 0 for one token, received -1',
    ],
    [
      'a cost beyond all credits',
      { a: { ...SONNET, output_cost_per_token: 1e300 } },
      '"a".output_cost_per_token: expected a number of at least 0',
    ],
    [
      'a limit that is no integer',
      { a: { ...SONNET, max_input_tokens: 1.5 } },
      '"a".max_input_tokens: expected an integer of at least 0, received 1.5',
    ],
  ])('%s', async (_, map, message) => {
    const { run, read } = place();
    const { status, out, stderr } = await run(map, ...words`--provider anthropic --from anthropic`);
    expect({ status, out }).toEqual({ status: expect.any(Number) as number, out: '' });
    expect(status).not.toBe(0);
    expect(stderr).toContain(message);
    expect(stderr).not.toMatch(/defect|\n +at /);
    expect(read()).toBe(CONFIG);
  });

  it.each([
    [[], '--provider is required: one of anthropic, openai'],
    [['--provider', 'x'], '--provider: expected one of anthropic, openai, received "x"'],
    [['--provider', 'openai', '--from', 'x'], '--from: expected a provider of the map'],
    [['--provider', 'openai', '--models', 'x-*'], '--models: no model of openai in the map'],
    [['--provider', 'openai', '--credits-per-unit', '0'], '--credits-per-unit: expected a number'],
  ])('the flags %j', async (flags, message) => {
    const { run, read } = place();
    const { status, stderr } = await run(MAP, ...flags);
    expect({ status, stderr }).toEqual({
      status: 2,
      stderr: expect.stringContaining(message) as string,
    });
    expect(read()).toBe(CONFIG);
  });

  it('an invalid configuration, and one that would be too large', async () => {
    const broken = place('models: 3\n');
    expect((await broken.run(MAP)).stderr).toContain('models: expected an object');
    const many = Object.fromEntries(
      Array.from({ length: 4000 }, (_, index) => [`claude-${index}`, SONNET]),
    );
    const { run, read, file } = place();
    const { status, stderr } = await run(many, '--provider', 'anthropic');
    expect({ status, stderr }).toMatchObject({ status: 1 });
    expect(stderr).toContain('larger than 512 KB');
    expect(stderr).toContain(`${file} was not changed`);
    expect(read()).toBe(CONFIG);
    expect(readdirSync(join(file, '..')).sort()).toEqual(['oriel.yaml', 'prices.json']);
  });
});

it('prices are the costs of a million tokens, rounded up to a millionth of a credit', () => {
  fc.assert(
    fc.property(fc.nat(1_000_000), fc.constantFrom(1, 10, 100, 0.92), (nano, credits) => {
      const value = { input_cost_per_token: nano / 1e9, output_cost_per_token: 0 };
      const entry = { name: 'a', provider: 'p', mode: 'chat', value };
      const converted = convertEntry(entry, credits, ['text']);
      if (typeof converted === 'string') throw new TypeError(converted);
      const { model, faults } = converted;
      expect(faults).toEqual([]);
      const exact =
        (BigInt(nano) * BigInt(Math.round(credits * 100)) * 1000n * 1_000_000n) / 100n / 1_000_000n;
      const micro = BigInt(Math.round(Number(model.price['input']) * 1e6));
      expect(micro - exact).toBeOneOf([0n, 1n]);
    }),
    { numRuns: runs(200) },
  );
});
