import { beforeAll, expect, test } from 'vitest';
import { photo, quadrants } from '../../fixtures/images.ts';
import { ownServer, sharedServer } from '../test-server.ts';
import { bodyOf, entriesOf, fieldPart, filePart, manifestOf, send } from './form.ts';

const server = sharedServer();
let files: Record<string, Buffer>;
beforeAll(async () => {
  files = {
    'a.jpg': await photo({ width: 120, height: 80 }).jpeg({ quality: 90 }).toBuffer(),
    'b.png': await quadrants({ width: 64, height: 64 }).png({ compressionLevel: 0 }).toBuffer(),
    'c.avif': await photo({ width: 64, height: 64 }).avif({ effort: 0 }).toBuffer(),
    'broken.png': Buffer.from('no image'),
  };
});

const optimize = (fields: Readonly<Record<string, string>>) =>
  send(
    server(),
    'batch-optimize-images',
    bodyOf([
      ...Object.entries(fields).map(([name, value]) => fieldPart(name, value)),
      ...Object.entries(files).map(([name, bytes]) => filePart(name, bytes)),
    ]),
  );

test('gives a ZIP of smaller images, and what was tried in its manifest', async () => {
  const { status, bytes } = await optimize({ targetSsim: '0.9' });
  expect(status).toBe(200);
  const entries = entriesOf(bytes);
  const manifest = manifestOf(entries);
  const [jpeg, png, avif, broken] = manifest.results;
  expect(manifest.summary).toMatchObject({ total: 4, succeeded: 3, failed: 1 });
  for (const { inputFilename, outputFilename } of [jpeg!, png!, avif!]) {
    const made = entries[outputFilename!]!;
    expect(made.length, inputFilename).toBeLessThanOrEqual(files[inputFilename]!.length);
  }
  expect(jpeg!.data).toMatchObject({
    chosen: { format: 'jpeg', ssim: expect.any(Number), size: jpeg!.size },
    tried: expect.arrayContaining([
      { format: 'jpeg', lossless: true, size: expect.any(Number), ssim: 1 },
    ]),
    reached: true,
  });
  expect(broken!.error!.code).toBe('unsupported_format');
});

test.each([
  [{ targetSize: '100' }, 'targetSize', 'KiB (1024 bytes)'],
  [{ targetSsim: '98' }, 'targetSsim', 'a number from 0.5 to 1'],
  [{ targetSsim: '0.9', targetSize: '9KB' }, 'targetSize', 'cannot be used with targetSsim'],
  [{ colors: '1' }, 'colors', 'an integer from 2 to 256'],
  [{ keepIfSmaller: 'maybe' }, 'keepIfSmaller', 'true or false'],
])('of %j is an error that names the field', async (fields, param, message) => {
  const { status, bytes } = await optimize(fields as Record<string, string>);
  expect(status).toBe(400);
  const { error } = JSON.parse(String(bytes));
  expect(error).toMatchObject({ param, message: expect.stringContaining(message) });
});

test('of SVG minifies it where batch.svg allows it, within the limits of time', async () => {
  const server = await ownServer({ config: { batch: { svg: true, deadline: '2s' } } });
  const svg = (body: string) =>
    Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40">${body}</svg>`);
  const square = '<rect width="30" height="20" fill="#ff0000"/>';
  // Selectors that start at each element again.
  const rules = Array.from({ length: 300 }, (_, at) => {
    return `svg > g rect:not(${'g '.repeat(50)}.a${at}), *[fill^="x"] ~ rect{fill:blue}`;
  });
  const files = {
    'a.svg': svg(`<!-- drawn by hand -->${square}`),
    'slow.svg': svg(`<style>${rules.join('')}</style>${square.repeat(500)}`),
  };
  const parts = Object.entries(files).map(([name, bytes]) => filePart(name, bytes));
  const { status, bytes } = await send(server, 'batch-optimize-images', bodyOf(parts));
  expect(status).toBe(200);
  const entries = entriesOf(bytes);
  const [small, slow] = manifestOf(entries).results;
  expect(small).toMatchObject({ status: 'succeeded', outputFilename: 'a.svg' });
  expect(String(entries['a.svg'])).not.toContain('by hand');
  expect(slow!.error).toMatchObject({ code: 'timeout' });
});
