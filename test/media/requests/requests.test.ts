import * as v from 'valibot';
import { describe, expect, it, test } from 'vitest';
import { findModel } from '../../../src/config/catalog/catalog.ts';
import { configSchema, type Model } from '../../../src/config/settings/schema.ts';
import { Failure } from '../../../src/failure.ts';
import { readModerationRequest } from '../../../src/media/requests/moderation.ts';
import {
  defaultModerationModel,
  modelIdOf,
} from '../../../src/media/requests/validated-request.ts';
import { READERS as TASK_READERS } from '../../../src/media/stages/validate-request.ts';
import { quoteValue } from '../../../src/schema/fields.ts';
import { MODELS } from '../../http/routes/manual-media.ts';

const config = v.parse(configSchema, MODELS);
const modelOf = (id: string): Model => findModel(config, id, null).model;

const READERS = { ...TASK_READERS, judge: readModerationRequest };
type Reader = keyof typeof READERS;

const fieldsFor = (model: string, more: object) => ({ model, prompt: 'a lighthouse', ...more });

/** What a reader makes of the fields; a model's own reader where none is said. */
function read(model: string, more: object, reader: Reader = readerOf(model)) {
  return READERS[reader](fieldsFor(model, more), modelOf(model));
}

const readerOf = (model: string): Reader => (model in READERS ? (model as Reader) : 'image');

function failing(work: () => unknown): Failure {
  try {
    work();
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  throw new Error('nothing was wrong');
}

const refused = (model: string, more: object, reader?: Reader) => {
  const { type, status, param, message } = failing(() => read(model, more, reader));
  expect([type, status]).toEqual(['invalid_request', 400]);
  return [param, message];
};

describe('an image request', () => {
  it('has defaults for missing fields', () => {
    expect(read('native', {})).toEqual({
      request: {
        type: 'image',
        prompt: 'a lighthouse',
        seed: null,
        user: null,
        edit: false,
        n: 1,
        size: 'auto',
        native: true,
        quality: 'auto',
        inputs: [],
        mask: null,
      },
      inputImages: [],
      callbackUrl: null,
      fieldNames: {},
    });
    expect(read('image', {})).toMatchObject({
      request: { native: false, size: null, quality: null },
    });
  });

  it('keeps its fields', () => {
    const inputs = ['https://example.com/a.png', 'data:image/png;base64,AA=='];
    const said = { n: 10, quality: 'high', seed: 7, user: 'me', input_images: inputs };
    expect(read('native', { ...said, callback_url: 'https://example.com/hook' })).toMatchObject({
      request: { n: 10, quality: 'high', seed: 7, user: 'me', inputs: [] },
      inputImages: inputs,
      callbackUrl: 'https://example.com/hook',
    });
  });

  it('treats null as a missing field', () => {
    const names = ['size', 'n', 'quality', 'input_images', 'seed', 'user', 'callback_url', 'style'];
    const nothing = Object.fromEntries(names.map((name) => [name, null]));
    expect(read('native', nothing)).toEqual(read('native', {}));
  });

  test.each([
    [{ size: 'auto' }, 'auto'],
    [{ size: '16:9', resolution: '2K' }, '2048x1152'],
    [{ aspect_ratio: '9:16', resolution: '4K' }, '2160x3840'],
    [{ img_size: '1024x1536' }, '1024x1536'],
  ])('with %j gives a model with native sizes %s', (more, size) => {
    expect(read('native', more)).toMatchObject({ request: { size } });
  });

  test.each([
    [{ size: '2K' }, '2K'],
    [{ size: 'landscape_16_9', aspect_ratio: '1:1' }, 'landscape_16_9'],
    [{ img_size: '512x512', aspect_ratio: '1:1' }, '512x512'],
    [{ aspect_ratio: '16:9', n: 1, quality: 'auto' }, '16:9'],
  ])('with %j passes the size on to other models: %s', (more, size) => {
    expect(read('image', more)).toMatchObject({ request: { size, quality: null, n: 1 } });
  });

  it('counts characters, and replaces unpaired surrogates', () => {
    const longest = '🙂'.repeat(32_000);
    expect(read('native', { prompt: longest })).toMatchObject({ request: { prompt: longest } });
    expect(read('native', { prompt: 'a\ud83d b\ude42', user: '\ud800' })).toMatchObject({
      request: { prompt: 'a\ufffd b\ufffd', user: '\ufffd' },
    });
  });

  const long = (length: number) => 'x'.repeat(length);
  const wrong: readonly (readonly [string, object, string, RegExp])[] = [
    ['native', { prompt: undefined }, 'prompt', / is required: a text of 1 to 32000 characters$/],
    ['native', { prompt: null }, 'prompt', /is required/],
    ['native', { prompt: '' }, 'prompt', /received ""$/],
    ['native', { prompt: ' \n\u3000' }, 'prompt', /expected a text/],
    ['native', { prompt: long(32_001) }, 'prompt', /expected a text.*\.\.\.$/],
    ['native', { prompt: `🙂${'é'.repeat(32_000)}` }, 'prompt', /expected a text/],
    ['native', { prompt: ['a'] }, 'prompt', /received a list$/],
    ['native', { prompt: { text: 'a' } }, 'prompt', /received an object$/],
    ['native', { n: 0 }, 'n', /^n: expected an integer from 1 to 10, received 0$/],
    ['native', { n: 11 }, 'n', /received 11$/],
    ['native', { n: 1.5 }, 'n', /received 1.5$/],
    ['native', { n: '2' }, 'n', /received "2"$/],
    [
      'native',
      { quality: 'best' },
      'quality',
      /^quality: expected one of auto, low, medium, high, standard, hd, received "best"$/,
    ],
    [
      'native',
      { size: '0x0' },
      'size',
      /^size: expected auto, WIDTHxHEIGHT or a ratio such as 16:9, received "0x0"$/,
    ],
    ['native', { size: '' }, 'size', /received ""$/],
    ['native', { size: 1024 }, 'size', /received 1024$/],
    ['native', { size: long(65) }, 'size', /expected 1 to 64/],
    ['native', { img_size: '2K' }, 'img_size', /^img_size: expected auto/],
    ['native', { aspect_ratio: '16x9' }, 'aspect_ratio', /^aspect_ratio: expected auto or a ratio/],
    ['native', { resolution: '8K' }, 'resolution', /expected one of 1K, 2K, 4K, received "8K"$/],
    ['native', { seed: -1 }, 'seed', /expected an integer of at least 0, received -1$/],
    ['native', { seed: 2 ** 53 }, 'seed', /^seed: /],
    ['native', { user: long(513) }, 'user', /at most 512 characters/],
    ['native', { user: 5 }, 'user', /received 5$/],
    ['native', { callback_url: '' }, 'callback_url', /expected an http or https URL/],
    ['native', { callback_url: long(2049) }, 'callback_url', /of at most 2048/],
    [
      'native',
      { input_images: 'https://example.com' },
      'input_images',
      /expected a list of at most 16 URLs, received "https/,
    ],
    ['native', { input_images: Array(17).fill('data:') }, 'input_images', /received a list of 17$/],
    [
      'native',
      { input_images: ['data:', null] },
      'input_images[1]',
      /expected a URL, received null$/,
    ],
    ['native', { input_images: [''] }, 'input_images[0]', /received ""$/],
    ['native', { input_images: { 0: 'data:' } }, 'input_images', /received an object$/],
    ['native', { mask: 'data:' }, 'mask', /^mask: unknown; expected one of model, prompt/],
    ['image', { n: 2 }, 'n', /^n: expected 1 for the model image, received 2$/],
    [
      'image',
      { quality: 'low' },
      'quality',
      /expected auto, standard or hd for the model image, received "low"$/,
    ],
    ['image', { resolution: '2K' }, 'resolution', /^resolution: /],
    ['image', { size: 'größer' }, 'size', /printable ASCII/],
    ['video', {}, 'model', /^model: video is a model of type video, not of image$/],
    ['text', {}, 'model', /type text, not of image$/],
  ];
  test.each(
    wrong.map(([model, more, ...rest]) => [model, quoteValue(more), more, ...rest] as const),
  )('of %s is refused with %s', (model, _, more, param, message) => {
    expect(refused(model, more, 'image')).toEqual([param, expect.stringMatching(message)]);
  });

  it('for a model of another type has code wrong_model_type', () => {
    expect(failing(() => read('audio', {}, 'image')).code).toBe('wrong_model_type');
  });

  it('is refused at its first invalid field', () => {
    const inputs = Array.from({ length: 1_000_000 }, () => 5);
    expect(refused('native', { input_images: inputs })[0]).toBe('input_images[0]');
  });
});

describe('an edit', () => {
  it('is an image request that edits its inputs', () => {
    expect(read('native', { size: '16:9', n: 2, quality: 'low' }, 'edit')).toMatchObject({
      request: { type: 'image', edit: true, n: 2, size: '1536x1024', quality: 'low', inputs: [] },
      inputImages: [],
    });
  });

  test.each<[string, object, string]>([
    ['image', { n: 2 }, 'n'],
    ['native', { input_images: [] }, 'input_images'],
    ['native', { prompt: '' }, 'prompt'],
    ['video', {}, 'model'],
  ])('of %s is refused with %j', (model, more, param) => {
    expect(refused(model, more, 'edit')[0]).toBe(param);
  });
});

describe('a video request', () => {
  test.each<[object, object]>([
    [{}, { size: null, duration: 7 }],
    [
      { size: 'auto', duration: 60 },
      { size: null, duration: 60 },
    ],
    [
      { size: '1280X720', duration: 1 },
      { size: '1280x720', duration: 1 },
    ],
    [{ aspect_ratio: '9:16' }, { size: '9:16' }],
    [{ size: 'auto', aspect_ratio: '9:16' }, { size: '9:16' }],
    [{ size: '1280x720', aspect_ratio: '16:9' }, { size: '1280x720' }],
    [{ size: '854x480', aspect_ratio: '16:9' }, { size: '854x480' }],
    [{ size: '16:9', aspect_ratio: 'auto' }, { size: '16:9' }],
  ])('with %j asks for %j', (more, request) => {
    expect(read('video', more)).toMatchObject({
      request: { type: 'video', inputs: [], ...request },
    });
  });

  test.each<[object, string]>([
    [{ size: '1280x720', aspect_ratio: '9:16' }, 'aspect_ratio'],
    [{ size: '16:9', aspect_ratio: '4:3' }, 'aspect_ratio'],
    [{ size: '720p' }, 'size'],
    [{ aspect_ratio: '1280x720' }, 'aspect_ratio'],
    [{ duration: 0 }, 'duration'],
    [{ duration: 61 }, 'duration'],
    [{ duration: 2.5 }, 'duration'],
    [{ input_images: [5] }, 'input_images[0]'],
  ])('is refused with %j', (more, param) => {
    expect(refused('video', more)[0]).toBe(param);
  });

  it('requires a model of type video', () => {
    expect(refused('image', {}, 'video')[0]).toBe('model');
  });
});

describe('an audio request', () => {
  it('keeps voice, format and duration', () => {
    const said = { voice: 'alto', format: 'opus', duration: 12 };
    expect(read('audio', said)).toMatchObject({
      request: { type: 'audio', ...said },
      inputImages: [],
    });
    const unsaid = { voice: null, format: null, duration: null };
    expect(read('audio', {})).toMatchObject({ request: unsaid });
  });

  test.each<[object, string]>([
    [{ format: 'ogg' }, 'format'],
    [{ voice: '' }, 'voice'],
    [{ duration: 601 }, 'duration'],
    [{ input_images: [] }, 'input_images'],
  ])('is refused with %j', (more, param) => {
    expect(refused('audio', more)[0]).toBe(param);
  });
});

it('a request leaves out fields that it does not have', () => {
  const more = { ...(JSON.parse('{"__proto__": 1}') as object), sise: '1:1', constructor: 1 };
  expect(read('native', more)).toEqual(read('native', {}));
});

describe('a moderation request', () => {
  const judge = (input: unknown, more: object = {}) =>
    readModerationRequest({ input, ...more }, modelOf('judge'));

  it('accepts a text, texts, or parts', () => {
    expect(judge('a')).toBe('a');
    expect(judge(['a', '\ud800'])).toEqual(['a', '\ufffd']);
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'image_url', image_url: { url: 'data:' } },
    ];
    expect(judge(parts, { model: null })).toEqual(parts);
  });

  const wrong: readonly (readonly [unknown, string])[] = [
    [undefined, 'input'],
    [5, 'input'],
    [{ text: 'a' }, 'input'],
    [[], 'input'],
    [Array(65).fill('a'), 'input'],
    ['x'.repeat(32_001), 'input'],
    [['a', 5], 'input[1]'],
    [['a', { type: 'text', text: 'a' }], 'input[1]'],
    [[null], 'input[0]'],
    [[{ type: 'text', text: 'a' }, 'a'], 'input[1]'],
    [[{ type: 'sound' }], 'input[0].type'],
    [[{ type: 'text', text: 5 }], 'input[0].text'],
    [[{ type: 'image_url', image_url: 'data:' }], 'input[0].image_url'],
    [[{ type: 'image_url', image_url: { url: '' } }], 'input[0].image_url.url'],
  ];
  test.each(wrong.map(([input, param]) => [quoteValue(input), input, param] as const))(
    'is refused with %s',
    (_, input, param) => {
      expect(failing(() => judge(input)).param).toBe(param);
    },
  );

  it('requires a model of type moderation', () => {
    const refusal = failing(() =>
      readModerationRequest({ model: 'text', input: 'a' }, modelOf('text')),
    );
    expect([refusal.param, refusal.code]).toEqual(['model', 'wrong_model_type']);
  });

  it('defaults to the first moderation model that the key may use', () => {
    expect(defaultModerationModel(config, null)).toBe('judge');
    expect(defaultModerationModel(config, ['judge', 'text'])).toBe('judge');
    expect(failing(() => defaultModerationModel(config, ['text']))).toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
  });
});

test.each([[undefined], [null], [5], [''], [['a']], ['x'.repeat(257)]])(
  'a request with the model %j is refused',
  (model) => {
    const refusal = failing(() => modelIdOf({ model }));
    expect([refusal.status, refusal.param]).toEqual([400, 'model']);
    expect(refusal.message).toMatch(/^model(: expected| is required:) the name of a model/);
  },
);
