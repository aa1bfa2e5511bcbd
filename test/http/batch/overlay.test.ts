import { beforeAll, expect, test } from 'vitest';
import { HAS_FONTS } from '../../fixtures/fonts.ts';
import { painted, photo } from '../../fixtures/images.ts';
import { decode, expectColour } from '../../pixels.ts';
import { sharedServer } from '../test-server.ts';
import {
  bodyOf,
  entriesOf,
  fieldPart,
  filePart,
  manifestOf,
  type PartSource,
  send,
} from './form.ts';

const server = sharedServer();
let photograph: Buffer;
let logo: Buffer;
beforeAll(async () => {
  photograph = await photo({ width: 90, height: 60 }).png().toBuffer();
  logo = await painted({ width: 10, height: 6 }, () => [255, 0, 0])
    .png()
    .toBuffer();
});

const image = (name = 'logo.png', field = 'image') => filePart(name, logo, field);

async function sent(endpoint: string, ...parts: PartSource[]) {
  const answer = await send(server(), endpoint, bodyOf([filePart('a.png', photograph), ...parts]));
  const contents = answer.status === 200 ? entriesOf(answer.bytes) : {};
  return { ...answer, contents, results: () => manifestOf(contents) };
}

test('an uploaded image is laid over the others, and is on no list of results', async () => {
  const { contents, results } = await sent('batch-overlay-images', image(), fieldPart('x', '5'));
  expect(Object.keys(contents)).toEqual(['a.png', 'manifest.json']);
  expect(results().parameters).toMatchObject({ image: 'logo.png', x: 5 });
  const pixels = await decode(contents['a.png']!);
  expectColour(pixels.rgb(80, 57), [255, 0, 0]);
  await server().idle();
  expect(server().files()).toEqual([]);
});

test('a recipe refers to uploaded images by their file names', async () => {
  const steps = ['one.png', 'two.png'].map((name, index) => ({
    overlay: { image: name, gravity: index === 0 ? 'west' : 'east' },
  }));
  const recipe = fieldPart('recipe', JSON.stringify({ steps }));
  const images = [image('two.png', 'images'), image('one.png', 'images')];
  const { contents } = await sent('batch-run', recipe, ...images);
  const pixels = await decode(contents['a.png']!);
  for (const x of [2, 87]) expectColour(pixels.rgb(x, 30), [255, 0, 0]);
});

test.each([
  ['batch-overlay-images', 'image', () => [fieldPart('image', '/etc/passwd')]],
  ['batch-overlay-images', 'image', () => []],
  ['batch-overlay-images', 'image', () => [image(), image()]],
  ['batch-overlay-images', 'text', () => [image(), fieldPart('text', 'x')]],
  ['batch-overlay-images', 'size', () => [fieldPart('text', 'x'), fieldPart('size', '1e9')]],
  ['batch-overlay-images', 'text', () => [fieldPart('text', '<'.repeat(301))]],
  [
    'batch-overlay-images',
    'font',
    () => [fieldPart('text', 'x'), fieldPart('font', 'a 9999999px@')],
  ],
  ['batch-run', 'images', () => [recipeWith('/etc/passwd')]],
  ['batch-run', 'images', () => [recipeWith('__proto__')]],
  [
    'batch-run',
    'images',
    () => [recipeWith('b.png'), image('b.png', 'images'), image('c.png', 'images')],
  ],
  [
    'batch-run',
    'images',
    () => [recipeWith('b.png'), image('b.png', 'images'), image('b.png', 'images')],
  ],
  ['batch-convert-images', 'image', () => [fieldPart('format', 'png'), image()]],
  ['batch-negate-images', 'profile', () => [fieldPart('profile', '/etc/passwd')]],
  ['batch-negate-images', 'profile', () => [image('a.icc', 'profile'), image('b.icc', 'profile')]],
  ['batch-negate-images', 'intent', () => [fieldPart('intent', 'relative')]],
  ['batch-run', 'images', () => [recipe({ outputs: [{ format: 'png', profile: '/etc/passwd' }] })]],
])('%s refuses a fault in %s: case %#', async (endpoint, param, parts) => {
  const { status, json } = await sent(endpoint, ...parts());
  expect([status, json.error?.param]).toEqual([400, param]);
  await server().idle();
  expect(server().files()).toEqual([]);
});

const recipe = (content: object): PartSource => fieldPart('recipe', JSON.stringify(content));

const recipeWith = (name: string): PartSource => recipe({ steps: [{ overlay: { image: name } }] });

test.each([
  ['batch-negate-images', () => [image('a.icc', 'profile')]],
  [
    'batch-run',
    () => [recipe({ outputs: [{ format: 'png', profile: 'a.icc' }] }), image('a.icc', 'images')],
  ],
])('%s fails each file for a profile that is none', async (endpoint, parts) => {
  const { results } = await sent(endpoint, ...parts());
  expect(results().results[0]!.error).toMatchObject({
    code: 'profile_invalid',
    message: expect.stringMatching(/^a\.icc: /),
  });
});

test('an image that is too large is refused, and one that is damaged fails each file', async () => {
  const large = await sent(
    'batch-overlay-images',
    filePart('logo.png', Buffer.alloc(32_000_000), 'image'),
  );
  expect([large.status, large.json.error?.code]).toEqual([413, 'file_too_large']);
  const { results } = await sent('batch-overlay-images', filePart('l.png', 'no image', 'image'));
  expect(results().results[0]!.error).toMatchObject({
    code: 'unsupported_format',
    message: expect.stringMatching(/^l\.png: /),
  });
});

test.skipIf(!HAS_FONTS)(
  'hostile texts and names of files end in an image or an error',
  async () => {
    const texts = [
      '{name}',
      '</span><span size="9999999">',
      '&#x0;',
      'Z\u0351\u0352\u0353'.repeat(70),
    ];
    for (const [index, text] of texts.entries()) {
      const named = filePart(`<b>\u202e${'\ufdfd'.repeat(80)}.png`, photograph);
      const parts = [named, fieldPart('text', text), fieldPart('size', '2000')];
      const { status, results } = await sent('batch-overlay-images', ...parts);
      expect([index, status]).toEqual([index, 200]);
      for (const { error } of results().results) expect([text, error]).toEqual([text, undefined]);
    }
  },
);
