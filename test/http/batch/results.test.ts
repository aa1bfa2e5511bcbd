import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import type { BatchResult } from '../../../src/operations/batch/batch-record.ts';
import { OPERATIONS } from '../../../src/operations/registry.ts';
import { describeWith, engine } from '../../engines/engine.ts';
import { HAS_FONTS } from '../../fixtures/fonts.ts';
import { photo, quadrants } from '../../fixtures/images.ts';
import { temporaryFolder } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { KEYS, ownServer, sharedServer } from '../test-server.ts';
import {
  bodyOf,
  entriesOf,
  fieldPart,
  filePart,
  formOf,
  manifestOf,
  send,
  usageOf,
} from './form.ts';

const command = residentCommand();

const run = promisify(execFile);

const server = sharedServer();
let files: Record<string, Buffer>;
beforeAll(async () => {
  files = {
    'b.jpg': await photo({ width: 300, height: 200 }).jpeg().toBuffer(),
    'a é.png': await quadrants({ width: 64, height: 64 }).png().toBuffer(),
    'broken.png': Buffer.from('no image'),
    'empty.png': Buffer.alloc(0),
    'A É.webp': await quadrants({ width: 80, height: 60 }).webp().toBuffer(),
  };
});

/** What the system's unzip makes of an archive. */
async function unzip(archive: string, folder: string): Promise<Record<string, Buffer>> {
  await run('unzip', ['-q', archive, '-d', folder]);
  return Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]),
  );
}

/** The endpoint of each operation, after `batch-`, and options as a form sends them. */
const ENDPOINTS: Readonly<Record<string, readonly [string, Readonly<Record<string, string>>]>> = {
  convert: ['convert-images', { format: 'webp', quality: '70', lossless: 'false' }],
  resize: ['resize-images', { width: '40', fit: 'cover', height: '30', enlarge: 'yes' }],
  crop: ['crop-images', { left: '1', top: '2', width: '30', height: '20', format: 'png' }],
  rotate: ['rotate-images', { angle: '-90' }],
  trim: ['trim-images', { threshold: '20' }],
  extend: ['extend-images', { ratio: '1:1', gravity: 'north' }],
  sharpen: ['sharpen-images', { sigma: '0.8' }],
  unsharp: ['unsharp-images', { radius: '1.5', amount: '0.8' }],
  median: ['median-images', { size: '3' }],
  normalise: ['normalise-images', { low: '2' }],
  gamma: ['gamma-images', { value: '1.3' }],
  levels: ['levels-images', { black: '12', white: '240' }],
  contrast: ['contrast-images', { amount: '20', profile: 'p3', intent: 'relative' }],
  negate: ['negate-images', {}],
  tint: ['tint-images', { color: '#a0704a' }],
  round: ['round-images', { percent: '8', format: 'png' }],
  flatten: ['flatten-images', { background: '#336699' }],
  mask: ['mask-images', {}],
  blur: ['blur-images', { sigma: '2' }],
  greyscale: ['greyscale-images', {}],
  modulate: ['modulate-images', { brightness: '1.2', hue: '90' }],
  overlay: ['overlay-images', { text: '{index} {name} {date}', box: '#00000080' }],
  run: ['run', {}],
  optimize: ['optimize-images', { colors: '16' }],
  metadata: ['image-metadata', { exif: 'full', gps: 'true' }],
  'edit-metadata': ['edit-metadata', { set: 'Artist=A. Painter', strip: 'gps' }],
  palette: ['color-palette', { count: '3' }],
  placeholder: ['image-placeholder', { components: '3x3' }],
  hash: ['image-hash', { perceptual: 'dhash' }],
  'size-map': ['size-map', { resolution: '2K' }],
};

test('the endpoints are those of the interface and of further steps', () => {
  const named = OPERATIONS.filter(({ endpoint }) => endpoint !== undefined);
  const expected = Object.entries(ENDPOINTS).map(([name, [endpoint]]) => `${name} ${endpoint}`);
  expect(
    named.map(({ name, endpoint }) => `${name} ${endpoint!.slice('batch-'.length)}`).sort(),
  ).toEqual(expected.sort());
});

const cases = OPERATIONS.flatMap(({ name, gives, endpoint }) =>
  endpoint === undefined || ['run', 'mask'].includes(name) || (name === 'overlay' && !HAS_FONTS)
    ? []
    : [{ name, gives, endpoint, fields: ENDPOINTS[name]![1] }],
);

/** The same options as flags. */
const flagsOf = (fields: Readonly<Record<string, string>>) =>
  Object.entries(fields).flatMap(([name, value]) => {
    if (['true', 'yes'].includes(value)) return [`--${name}`];
    return value === 'false' ? [] : [`--${name}=${value}`];
  });

const PROGRAMS = [engine('curl', 'curl'), engine('unzip', 'unzip')];

describeWith(PROGRAMS, 'a batch sent by curl has the same results as the command line', () => {
  test.each(cases)('$name', async ({ name, gives, endpoint, fields }) => {
    const folder = temporaryFolder();
    for (const [file, bytes] of Object.entries(files)) writeFileSync(join(folder, file), bytes);
    const form = Object.keys(files).flatMap((file) => ['-F', `files=@${file}`]);
    const options = Object.entries(fields).flatMap(([field, value]) => ['-F', `${field}=${value}`]);
    const curl = ['-sS', '-D', 'headers', '-o', 'answer', '-H', `Authorization: Bearer ${KEYS.a}`];
    await run('curl', [...curl, ...options, ...form, `${server().url}/api/free/${endpoint}`], {
      cwd: folder,
    });
    const headers = readFileSync(join(folder, 'headers'), 'utf8');
    expect(headers).toMatch(/HTTP\/1\.1 200 OK[\s\S]*x-request-id: req_/);

    const [flags, names] = [flagsOf(fields), Object.keys(files)];
    if (gives === 'image') {
      expect(headers).toMatch(/content-type: application\/zip/i);
      expect(headers).toContain(`content-disposition: attachment; filename="${endpoint}.zip"`);
      await command([name, ...flags, '--zip', 'cli.zip', '--', ...names], { cwd: folder });
      for (const sub of ['http', 'cli']) mkdirSync(join(folder, sub));
      const http = await unzip(join(folder, 'answer'), join(folder, 'http'));
      const cli = await unzip(join(folder, 'cli.zip'), join(folder, 'cli'));
      const { requestId, ...mine } = manifestOf(http);
      const { requestId: _, ...theirs } = manifestOf(cli);
      expect(mine).toEqual(theirs);
      expect(mine.summary).toMatchObject({ total: 5, succeeded: 3, failed: 2 });
      expect(headers).toContain(requestId);
      delete http['manifest.json'];
      delete cli['manifest.json'];
      expect(http).toEqual(cli);
      expect(Object.keys(http)).toHaveLength(3);
    } else {
      expect(headers).toMatch(/content-type: application\/json/i);
      const cli = await command([name, ...flags, '--json', '--', ...names], { cwd: folder });
      const { requestId, ...mine } = JSON.parse(
        readFileSync(join(folder, 'answer'), 'utf8'),
      ) as BatchResult;
      const { requestId: _, ...theirs } = JSON.parse(cli.out) as BatchResult;
      expect(mine).toEqual(theirs);
      expect(headers).toContain(requestId);
      expect(Object.keys(mine)).toEqual(['operation', 'status', 'summary', 'results']);
    }
    expect(server().files()).toEqual([]);
  });
});

describe('names in the ZIP', () => {
  test('are safe and unique for any file names', async () => {
    const image = files['a é.png']!;
    const hostile = [
      '../../etc/passwd',
      'C:\\x\\con.png',
      '/abs',
      'manifest.json',
      '',
      'A.PNG',
      'a.png',
    ];
    const parts = hostile.map((name) => filePart(name, image));
    const { bytes } = await send(
      server(),
      'batch-convert-images',
      bodyOf([...parts, fieldPart('format', 'png')]),
    );
    const entries = entriesOf(bytes);
    const names = Object.keys(entries);
    const images = ['passwd.png', 'con_.png', 'abs.png', 'manifest.png', 'image.png'];
    expect(names).toEqual([...images, 'A.PNG', 'a-2.png', 'manifest.json']);
    const manifest = manifestOf(entries);
    expect(manifest.results.map(({ inputFilename }) => inputFilename)).toEqual(hostile);
    expect(manifest.results.map(({ outputFilename }) => outputFilename)).toEqual(
      names.slice(0, -1),
    );
  });
});

test('the error for SVG names the setting that allows it', async () => {
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
  const { json } = await send(server(), 'batch-image-metadata', formOf({ 'a.svg': svg }, {}));
  expect(json).toMatchObject({
    results: [
      {
        error: {
          code: 'unsupported_format',
          message: "SVG images are not read without the operator's setting batch.svg",
        },
      },
    ],
  });
});

describe('a batch without a success', () => {
  test.each(['batch-convert-images', 'batch-color-palette'])(
    'is done all the same: %s',
    async (endpoint) => {
      const fields: Record<string, string> =
        endpoint === 'batch-convert-images' ? { format: 'png' } : {};
      const form = formOf({ 'a.png': Buffer.from('no image'), 'b.png': Buffer.alloc(0) }, fields);
      const { status, bytes, json } = await send(server(), endpoint, form);
      expect(status).toBe(200);
      let result = json as unknown as BatchResult;
      if (endpoint === 'batch-convert-images') result = manifestOf(entriesOf(bytes));
      expect(result).toMatchObject({
        status: 'completed',
        summary: { total: 2, succeeded: 0, failed: 2 },
        results: [
          {
            index: 0,
            inputFilename: 'a.png',
            status: 'failed',
            error: { code: 'unsupported_format' },
          },
          { index: 1, inputFilename: 'b.png', status: 'failed', error: { code: 'empty_file' } },
        ],
      });
    },
  );
});

describe('invalid options are refused before any work', () => {
  test.each([
    ['batch-convert-images', {}, 'format', /is required: one of jpeg, png/],
    ['batch-convert-images', { format: 'bmp' }, 'format', /received "bmp"/],
    [
      'batch-convert-images',
      { format: 'webp', quality: '101' },
      'quality',
      /from 1 to 100, received 101/,
    ],
    ['batch-convert-images', { format: 'webp', quality: 'high' }, 'quality', /received "high"/],
    [
      'batch-convert-images',
      { format: 'jpeg', lossless: 'true' },
      'lossless',
      /cannot be lossless/,
    ],
    ['batch-crop-images', { left: '0', top: '0', width: '10' }, 'height', /is required/],
    ['batch-crop-images', { left: '-1', top: '0', width: '1', height: '1' }, 'left', /at least 0/],
    ['batch-crop-images', { left: '0', top: '0', width: '8193', height: '1' }, 'width', /8192/],
    ['batch-resize-images', { width: '8193' }, 'width', /from 1 to 8192, received 8193/],
    ['batch-color-palette', { count: '21' }, 'count', /from 1 to 20/],
    ['batch-image-metadata', { gps: 'perhaps' }, 'gps', /true or false/],
  ])('%s %o', async (endpoint, fields, param, message) => {
    const form = formOf({ 'b.jpg': files['b.jpg']! }, fields as Record<string, string>);
    const { status, json } = await send(server(), endpoint, form);
    expect(status).toBe(400);
    expect(json.error).toMatchObject({ type: 'invalid_request', param });
    expect(json.error?.message).toMatch(message);
  });
});

test('usage is recorded when the response ends', async () => {
  const own = await ownServer();
  await send(own, 'batch-convert-images', formOf(files, { format: 'png' }));
  expect(await usageOf(own)).toMatchObject([
    { model: 'batch-convert-images', requests: 1, outputs: 3, credits: 0 },
  ]);
});

test('a batch counts as one request against the rate limit', async () => {
  const remaining = async () => {
    const { headers } = await send(server(), 'batch-image-hash', formOf(files));
    return Number(headers.get('x-ratelimit-remaining-requests'));
  };
  const before = await remaining();
  expect(await remaining()).toBe(before - 1);
});

test('the OpenAPI document has ranges, choices and defaults of the fields', async () => {
  const document = (await (await fetch(`${server().url}/openapi.json`)).json()) as {
    paths: Record<
      string,
      { post: { requestBody: { content: Record<string, { schema: object }> } } }
    >;
  };
  const schemaOf = (endpoint: string) =>
    document.paths[`/api/free/batch-${endpoint}`]!.post.requestBody.content['multipart/form-data']!
      .schema;
  const bodies = Object.values(ENDPOINTS).map(([endpoint]) => schemaOf(endpoint));
  for (const schema of bodies) {
    expect(schema).toMatchObject({
      required: expect.arrayContaining(['files']),
      properties: {
        files: {
          type: 'array',
          items: { type: 'string', format: 'binary' },
          minItems: 1,
          maxItems: 20,
        },
      },
    });
  }
  expect(schemaOf('convert-images')).toMatchObject({
    required: ['files', 'format'],
    properties: { quality: { type: 'integer', minimum: 1, maximum: 100 } },
  });
  expect(schemaOf('crop-images')).toMatchObject({
    required: ['files'],
    properties: { width: { minimum: 1, maximum: 8192 } },
  });
  expect(schemaOf('color-palette')).toMatchObject({
    properties: { count: { minimum: 1, maximum: 20, default: 6 } },
  });
});
