import '../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import {
  findModel,
  publishModel,
  publishModels,
  reasoningOf,
  routesOf,
} from '../../../src/config/catalog/catalog.ts';
import { load } from '../configuration.ts';

const MODELS = `
providers:
  p: { kind: sandbox }
models:
  text:
    type: text
    created: 2026-01-31
    ownedBy: somebody
    name: A Text Model
    description: Writes.
    routes:
      - { provider: p, model: middle, priority: 1 }
      - { provider: p, model: high, priority: 2 }
      - { provider: p, model: also-middle }
      - { provider: p, model: low, priority: 0 }
    reasoning: { supported_efforts: [none, low], default_effort: low, can_disable: true }
    maxOutputTokens: 4096
    contextWindow: 8192
    price: { input: 1.25, cachedInput: 0.125, output: 10 }
  plain: { type: text, routes: [{ provider: p, model: x }], price: { input: 2 } }
  fixed: { type: text, rules: fixed-reasoning, routes: [{ provider: p, model: x }] }
  native: { type: image, rules: native-size, routes: [{ provider: p, model: x }], price: { perImage: 4 } }
  any: { type: image, routes: [{ provider: p, model: x }] }
  video: { type: video, routes: [{ provider: p, model: x }], price: { perVideo: 1, perSecond: 0.5 } }
  audio: { type: audio, routes: [{ provider: p, model: x }], price: { perRequest: 0.1 } }
  guard: { type: moderation, routes: [{ provider: p, model: x }] }
`;

describe('the catalog', () => {
  it("lists a model in OpenAI's shape, with further fields", () => {
    const { config } = load(MODELS);
    expect(publishModels(config, ['text'])).toEqual({
      object: 'list',
      data: [
        {
          id: 'text',
          object: 'model',
          root: 'text',
          aliases: [],
          created: 1_769_817_600,
          owned_by: 'somebody',
          type: 'text',
          name: 'A Text Model',
          description: 'Writes.',
          endpoints: [
            '/v1/chat/completions',
            '/v1/responses',
            '/v1/responses/input_tokens',
            '/v1/messages',
            '/v1/messages/count_tokens',
            '/v1/completions',
            '/v1beta/models/:model:generateContent',
            '/v1beta/models/:model:streamGenerateContent',
            '/v1beta/models/:model:countTokens',
          ],
          pricing: {
            input_per_million_tokens: 1.25,
            cached_input_per_million_tokens: 0.125,
            output_per_million_tokens: 10,
          },
          pricing_tiers: [],
          sizes: null,
          limits: { context_window: 8192, max_output_tokens: 4096 },
          capability_metadata: {
            reasoning: {
              supported_efforts: ['none', 'low'],
              default_effort: 'low',
              can_disable: true,
            },
          },
        },
      ],
    });
  });

  it('fills in defaults for unset fields', () => {
    const { config } = load(MODELS);
    expect(publishModel(config, 'plain', null)).toMatchObject({
      created: 0,
      owned_by: 'oriel',
      name: 'plain',
      description: null,
      pricing: {
        input_per_million_tokens: 2,
        cached_input_per_million_tokens: 2,
        output_per_million_tokens: 0,
      },
      limits: { context_window: null, max_output_tokens: null },
      capability_metadata: {
        reasoning: { supported_efforts: [], default_effort: null, can_disable: false },
      },
    });
    expect(publishModel(config, 'fixed', null)).toMatchObject({
      limits: { max_output_tokens: 1_048_576 },
      capability_metadata: {
        reasoning: { supported_efforts: ['low', 'high', 'max'], can_disable: false },
      },
    });
  });

  it('lists the tiers of prices, each with the prices that it sets', () => {
    const { config } = load(`
providers: { sandbox: { kind: sandbox } }
models:
  m:
    type: text
    routes: [{ provider: sandbox, model: chat }]
    price: { input: 1, output: 2, tiers: [{ above: 1000, input: 3, cacheWrite1h: 4 }, { above: 2000, output: 5 }] }
`);
    expect(publishModel(config, 'm', null).pricing_tiers).toEqual([
      { above: 1000, input_per_million_tokens: 3, cache_write_1h_per_million_tokens: 4 },
      { above: 2000, output_per_million_tokens: 5 },
    ]);
  });

  it.each([
    ['native', { per_image: 4 }, { max_images: 10 }],
    ['any', { per_image: 0 }, { max_images: 1 }],
    ['video', { per_video: 1, per_second: 0.5 }, { default_duration: 4 }],
    ['audio', { per_request: 0.1 }, {}],
    ['guard', { per_request: 0 }, {}],
  ])('lists price and limits of %s', (id, pricing, limits) => {
    const { config } = load(MODELS);
    const published = publishModel(config, id, null);
    expect(published).toMatchObject({ pricing, limits });
    expect(published.endpoints).not.toEqual([]);
    expect(published.capability_metadata.reasoning.supported_efforts).toEqual([]);
  });

  it('lists the sizes of models with native sizes, and none of others', () => {
    const { config } = load(MODELS);
    expect(publishModel(config, 'native', null).sizes).toHaveLength(7);
    expect(publishModel(config, 'native', null).sizes).toContain('1536x1024');
    expect(publishModel(config, 'any', null).sizes).toBeNull();
  });

  it('lists only the allowed models of a restricted key, in the order of the file', () => {
    const { config } = load(MODELS);
    const ids = (allowed: readonly string[] | null) =>
      publishModels(config, allowed).data.map(({ id }) => id);
    expect(ids(null)).toEqual(Object.keys(config.models));
    expect(ids(['video', 'text', 'gone'])).toEqual(['text', 'video']);
    expect(ids([])).toEqual([]);
    expect(() => publishModel(config, 'text', ['video'])).toThrow(
      expect.objectContaining({ status: 404, code: 'model_not_found', param: 'model' }) as Error,
    );
  });

  it.each(['gone', '', '__proto__', 'constructor', 'toString'])(
    'rejects the unknown model %j with 404',
    (id) => {
      const { config } = load(MODELS);
      const missing = { type: 'invalid_request', status: 404, code: 'model_not_found' };
      for (const ask of [publishModel, findModel]) {
        expect(() => ask(config, id, null)).toThrow(expect.objectContaining(missing) as Error);
      }
    },
  );
});

describe('findModel and its routes', () => {
  it('returns a model by its identifier, if the key allows it', () => {
    const { config } = load(MODELS);
    expect(findModel(config, 'text', null).model).toBe(config.models['text']);
    expect(findModel(config, 'text', ['text']).model).toBe(config.models['text']);
    expect(() => findModel(config, 'text', ['video'])).toThrow(
      expect.objectContaining({
        type: 'auth_error',
        status: 403,
        code: 'model_not_allowed',
      }) as Error,
    );
  });

  it('orders routes by priority, the highest first, then as written', () => {
    const { config } = load(MODELS);
    const { model } = findModel(config, 'text', null);
    expect(routesOf(model).map((route) => route.model)).toEqual([
      'high',
      'middle',
      'also-middle',
      'low',
    ]);
    expect(model.routes[0]?.model).toBe('middle');
  });

  it('derives reasoning from the rules if the configuration sets none', () => {
    const { config } = load(MODELS);
    expect(reasoningOf(findModel(config, 'fixed', null).model)).toEqual({
      supported_efforts: ['low', 'high', 'max'],
      default_effort: 'high',
      can_disable: false,
    });
    expect(reasoningOf(findModel(config, 'native', null).model).default_effort).toBeNull();
  });
});
