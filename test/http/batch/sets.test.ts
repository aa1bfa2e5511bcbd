import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { photo } from '../../fixtures/images.ts';
import { sharedServer } from '../test-server.ts';
import { bodyOf, entriesOf, fieldPart, filePart, formOf, manifestOf, send } from './form.ts';

const server = sharedServer();
let files: Record<string, Buffer>;
beforeAll(async () => {
  const first = photo({ width: 300, height: 200 });
  files = {
    'a.png': await first.clone().png().toBuffer(),
    'smaller.jpg': await first.clone().resize(150).jpeg().toBuffer(),
    'other.png': await photo({ width: 300, height: 200 }, 7).png().toBuffer(),
    'same.png': await first.clone().png().toBuffer(),
    'broken.png': Buffer.from('no image'),
  };
});

const zipOf = async (endpoint: string, sent: Record<string, Buffer>, fields: object = {}) => {
  const { bytes, headers } = await send(server(), endpoint, formOf(sent, fields as never));
  expect(String(new Headers(headers as never).get('content-type'))).toBe('application/zip');
  const entries = entriesOf(bytes);
  return {
    entries,
    manifest: manifestOf(entries) as ReturnType<typeof manifestOf> & Record<string, never>,
  };
};

test('duplicates groups what is identical or alike, and reports a broken file by its name', async () => {
  const { json } = await send(server(), 'batch-find-duplicates', formOf(files, {}));
  const { groups, results } = json as { groups: unknown; results: unknown[] };
  expect(groups).toMatchObject([
    {
      keep: { inputFilename: 'a.png', index: 0 },
      duplicates: [
        { inputFilename: 'same.png', match: 'identical' },
        { inputFilename: 'smaller.jpg', match: 'similar' },
      ],
    },
  ]);
  expect(results[4]).toMatchObject({ inputFilename: 'broken.png', status: 'failed' });
  const exact = await send(
    server(),
    'batch-find-duplicates',
    formOf(files, { perceptual: 'none' }),
  );
  expect((exact.json as { groups: object[] }).groups).toHaveLength(1);
});

describe('compare', () => {
  const compared = (reference: readonly string[], fields: Record<string, string> = {}) => {
    const parts = Object.entries(fields).map(([name, value]) => fieldPart(name, value));
    const references = reference.map((name) => filePart(name, files[name]!, 'reference'));
    const sent = ['a.png', 'smaller.jpg', 'broken.png'].map((name) => filePart(name, files[name]!));
    return send(server(), 'batch-compare-images', bodyOf([...references, ...parts, ...sent]));
  };

  test('measures each file against the reference', async () => {
    const { json } = await compared(['a.png'], { minSsim: '0.999', resize: 'true' });
    const { results } = json as { results: unknown };
    expect(results).toMatchObject([
      { data: { reference: 'a.png', ssim: 1, psnr: null, passed: true } },
      { data: { reference: 'a.png', width: 300, passed: false } },
      { status: 'failed', error: { code: 'unsupported_format' } },
    ]);
    const { json: other } = await compared(['a.png']);
    expect(JSON.stringify(other)).toContain('is 150x100, but a.png is 300x200; resize scales it');
    const { json: broken } = await compared(['broken.png']);
    expect(JSON.stringify(broken)).toContain('broken.png: not an image of a known format');
  });

  test.each([[[]], [['a.png', 'a.png']]])('needs one reference, not %j', async (reference) => {
    const { status, json } = await compared(reference);
    expect([status, json]).toMatchObject([400, { error: { param: 'reference' } }]);
  });
});

describe('montage', () => {
  test('draws one sheet, with a mark for a broken file', async () => {
    const fields = { columns: '2', cell: '60x40', label: '{index} {name}', format: 'jpeg' };
    const { entries, manifest } = await zipOf('batch-montage-images', files, fields);
    expect(Object.keys(entries)).toEqual(['sheet.jpg', 'manifest.json']);
    const { width, height, format } = await sharp(entries['sheet.jpg']).metadata();
    expect([width, height, format]).toEqual([150, 226, 'jpeg']);
    expect(manifest['sheet']).toMatchObject({ outputFilename: 'sheet.jpg', width, height });
    expect(manifest.summary.outputBytes).toBe(entries['sheet.jpg']!.length);
    expect(manifest.results[3]).toEqual({
      ...{ index: 3, inputFilename: 'same.png', status: 'succeeded' },
      ...{ originalSize: files['same.png']!.length, data: { row: 2, column: 2 } },
    });
    expect(manifest.results[4]!.error!.code).toBe('unsupported_format');
  });

  test('of broken files alone has no sheet, and a large sheet is refused', async () => {
    const broken = { 'broken.png': files['broken.png']! };
    expect(Object.keys((await zipOf('batch-montage-images', broken)).entries)).toEqual([
      'manifest.json',
    ]);
    const { status, json } = await send(
      server(),
      'batch-montage-images',
      formOf(files, { cell: '9999x9999' }),
    );
    expect(status).toBe(400);
    expect(json).toMatchObject({
      error: {
        param: 'cell',
        message: expect.stringMatching(/^cell: expected a sheet of at most/),
      },
    });
  });
});

test('favicon returns icons, a manifest and HTML, of one image', async () => {
  const one = { 'a.png': files['a.png']! };
  const fields = { manifest: 'true', baseUrl: '/i/' };
  const { entries, manifest } = await zipOf('batch-favicon', one, fields);
  expect(Object.keys(entries).sort()).toEqual([
    ...['apple-touch-icon.png', 'favicon.ico', 'icon-192.png', 'icon-512.png'],
    ...['icon-maskable-512.png', 'manifest.json', 'site.webmanifest'],
  ]);
  expect(entries['favicon.ico']!.subarray(0, 6)).toEqual(Buffer.from([0, 0, 1, 0, 3, 0]));
  expect(JSON.parse(String(entries['site.webmanifest']))).toEqual({ icons: manifest['icons'] });
  expect(manifest['html']).toContain('<link rel="manifest" href="/i/site.webmanifest">');
  expect(manifest.results[0]).not.toHaveProperty('data');
  const { json } = await send(server(), 'batch-favicon', formOf(files, {}));
  expect(json).toMatchObject({ error: { param: 'files' } });
  const broken = await zipOf('batch-favicon', { 'b.png': files['broken.png']! });
  expect(broken.manifest.results[0]!.status).toBe('failed');
});

test('srcset returns the widths and the markup of each image', async () => {
  const sent = { 'a.png': files['a.png']!, 'broken.png': files['broken.png']! };
  const fields = { widths: '50,100', formats: 'webp,jpeg', alt: '"A"' };
  const { entries, manifest } = await zipOf('batch-srcset', sent, fields);
  expect(Object.keys(entries)).toEqual([
    ...['a-50w.webp', 'a-50w.jpg', 'a-100w.webp', 'a-100w.jpg', 'manifest.json'],
  ]);
  expect(manifest.results[0]!.data).toMatchObject({
    html: expect.stringContaining('srcset="a-50w.jpg 50w, a-100w.jpg 100w"'),
  });
  expect(manifest.results[1]!.error!.code).toBe('unsupported_format');
});
