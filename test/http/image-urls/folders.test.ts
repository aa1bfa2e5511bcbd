import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { animatedGif, disc, photo } from '../../fixtures/images.ts';
import { ROOT } from '../../oriel.ts';
import { ownServer, sharedServer } from '../test-server.ts';
import { get, KEY, outcome, signed } from './image-client.ts';

const root = mkdtempSync(join(tmpdir(), 'oriel-test-'));
const folder = join(root, 'photos');
const OLD_KEY = 'a-key-that-was-replaced';
const images = {
  keys: [KEY, OLD_KEY],
  folders: { photos: folder },
  presets: { thumb: 'w=40,h=40,fit=cover', tiny: 'thumb' },
};
const server = sharedServer({ config: { images } });
const ask = (path: string, accept = '', key = KEY) =>
  get(server().url, signed(path, key), { headers: { accept } });

beforeAll(async () => {
  mkdirSync(join(folder, 'cats'), { recursive: true });
  const file = (name: string, content: Buffer) => writeFileSync(join(folder, name), content);
  const jpeg = await photo({ width: 120, height: 80 }).jpeg().toBuffer();
  const frames = [disc({ width: 20, height: 20 }), photo({ width: 20, height: 20 })];
  file('a.jpg', jpeg);
  file('scan.tif', await photo({ width: 120, height: 80 }).tiff().toBuffer());
  file('cats/b c.png', await photo({ width: 60, height: 90 }).png().toBuffer());
  file('moving.gif', await animatedGif(frames, { delay: [100, 100], loop: 0 }));
  file('cut.jpg', jpeg.subarray(0, 600));
  file('text.jpg', Buffer.from('no image'));
  file(
    'plain.svg',
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>'),
  );
  writeFileSync(join(root, 'secret.jpg'), jpeg);
  symlinkSync(join(root, 'secret.jpg'), join(folder, 'link.jpg'));
  symlinkSync(root, join(folder, 'up'));
  symlinkSync('a.jpg', join(folder, 'inner.jpg'));
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

const ALL = 'image/avif,image/webp,*/*;q=0.8';

describe('steps, and formats by Accept', () => {
  it.each([
    // path, Accept, media type, width, height, pages
    ['w=40/photos/a.jpg', '', 'jpeg', 40, 27, 1],
    ['w=40/photos/a.jpg', '*/*', 'jpeg', 40, 27, 1],
    ['w=40/photos/a.jpg', ALL, 'avif', 40, 27, 1],
    ['w=40/photos/a.jpg', 'image/webp', 'webp', 40, 27, 1],
    ['w=40/photos/a.jpg', 'image/avif;q=0, image/webp;q=0.5', 'webp', 40, 27, 1],
    ['w=40/photos/a.jpg', 'image/avifx', 'jpeg', 40, 27, 1],
    ['w=40/photos/scan.tif', '*/*', 'png', 40, 27, 1],
    ['w=40;f=tiff/photos/scan.tif', '', 'tiff', 40, 27, 1],
    ['w=40,f=png/photos/a.jpg', ALL, 'png', 40, 27, 1],
    ['width=40;format=webp,quality=30/photos/a.jpg', '', 'webp', 40, 27, 1],
    ['crop:left=0,top=0,width=30,height=20;greyscale;f=jpg/photos/a.jpg', '', 'jpeg', 30, 20, 1],
    ['w%3D40%3Bf%3Dpng/photos/a.jpg', '', 'png', 40, 27, 1],
    ['thumb;q=50/photos/cats/b%20c.png', 'image/webp', 'webp', 40, 40, 1],
    ['_/photos/cats/b%20c.png', '', 'png', 60, 90, 1],
    ['/photos/inner.jpg', '', 'jpeg', 120, 80, 1],
    ['w=10/photos/moving.gif', ALL, 'webp', 10, 10, 2],
    ['w=10/photos/moving.gif', '', 'gif', 10, 10, 2],
    ['w=10,f=avif/photos/moving.gif', '', 'avif', 10, 10, 1],
    ['w=40;expires=4102444800/photos/a.jpg', '', 'jpeg', 40, 27, 1],
  ])('%s for %j', async (path, accept, format, width, height, pages) => {
    const response = await ask(path, accept);
    expect(outcome(response)).toBe(`200 image/${format}`);
    const found = await sharp(response.body, { animated: true }).metadata();
    const frames = found.pages ?? 1;
    expect([found.width, found.pageHeight ?? found.height, frames]).toEqual([width, height, pages]);
    const isNegotiated = !/\bf(ormat)?=/.test(decodeURIComponent(path));
    expect(response.headers.vary).toBe(isNegotiated ? 'Accept' : undefined);
    expect(response.headers['x-content-type-options']).toBe('nosniff');
  });
});

describe('the documentation', () => {
  const page = readFileSync(join(ROOT, 'docs/image-urls.md'), 'utf8');
  const [, steps = '', urls = ''] = /## Steps(.*)## Sources.*## From imgproxy(.*)/s.exec(page)!;
  const rows = [...`${steps}${urls}`.matchAll(/^\|.*\| `(.*)` +\|$/gm)].map(([, cell]) => cell!);

  it('has steps in its tables', () => expect(rows.length).toBeGreaterThan(25));

  it.each(rows)('%s makes an image', async (row) => {
    expect(outcome(await ask(`${row}/photos/a.jpg`))).toMatch(/^200 image/);
  });
});

describe('what is refused', () => {
  it.each([
    ['w=40/photos/a.jpg', '', '200 image/jpeg', OLD_KEY],
    ['w=40/photos/a.jpg', '', '403 invalid_signature', 'another-key-of-nobody'],
    ['w=40;expires=1/photos/a.jpg', '', '404 image_expired'],
    ['expires=1/photos/a.jpg', '', '404 image_expired'],
    ['w=40/photos/none.jpg', '', '404 source_not_found'],
    ['w=40/photos/cats', '', '404 source_not_found'],
    ['w=40/photos', '', '404 source_not_found'],
    ['w=40/photos/../secret.jpg', '', '404 source_not_found'],
    ['w=40/photos/%2e%2e/secret.jpg', '', '404 source_not_found'],
    ['w=40/photos/cats%2f..%2f..%2fsecret.jpg', '', '404 source_not_found'],
    ['w=40/photos/..%5csecret.jpg', '', '404 source_not_found'],
    ['w=40/photos/%00a.jpg', '', '404 source_not_found'],
    ['w=40/photos//etc/passwd', '', '404 source_not_found'],
    ['w=40/photos/link.jpg', '', '404 source_not_found'],
    ['w=40/photos/up/secret.jpg', '', '404 source_not_found'],
    ['w=40//etc/passwd', '', '403 source_not_allowed'],
    ['w=40/__proto__/a.jpg', '', '403 source_not_allowed'],
    ['w=40/file:%2F%2F%2Fetc%2Fpasswd', '', '403 source_not_allowed'],
    ['w=40/s3:%2F%2Fbucket%2Fa.jpg', '', '403 source_not_allowed'],
    ['w=40/photos/text.jpg', '', '415 unsupported_format'],
    ['w=40/photos/plain.svg', '', '415 unsupported_format'],
    ['w=40/photos/cut.jpg', '', '422 corrupt_image'],
    ['crop:left=200,top=0,width=9,height=9/photos/a.jpg', '', '422 crop_out_of_bounds'],
    ['w=9000,enlarge=true/photos/a.jpg', '', '422 output_too_large'],
    ['w=x/photos/a.jpg', '', '400 invalid_recipe'],
    ['w/photos/a.jpg', '', '400 invalid_recipe'],
    ['tiny/photos/a.jpg', '', '400 invalid_recipe'],
    ['__proto__/photos/a.jpg', '', '400 invalid_recipe'],
    ['w=40;when:format=png/photos/a.jpg', '', '400 invalid_recipe'],
    ['overlay:image=%2Fetc%2Fpasswd/photos/a.jpg', '', '400 invalid_recipe'],
    [`q="1, f: png"/photos/a.jpg`, '', '400 invalid_recipe'],
    ['background=${HOME}/photos/a.jpg', '', '400 invalid_recipe'],
    ['w=40', '', '400 invalid_url'],
    ['w=40/', '', '400 invalid_url'],
    ['w=40/photos/%ff', '', '400 invalid_url'],
  ])('%s %s: %s', async (path, accept, expected, key = KEY) => {
    const response = await ask(path.replace(/["{} $]/g, encodeURIComponent), accept, key);
    expect(outcome(response)).toBe(expected);
    expect(String(response.body)).not.toContain(root);
    if (response.status === 200) return;
    expect(response.body.length).toBeLessThan(400);
  });

  it('all of it without keys', async () => {
    const { url } = await ownServer();
    expect(outcome(await get(url, signed('w=40/photos/a.jpg')))).toBe('404 unknown_endpoint');
  });

  it.each([
    '/img/',
    '/img/x',
    '/img/x/',
    '/img/%2e/w=1/photos/a.jpg',
    `/img/${'a'.repeat(9000)}/b/c`,
  ])('a URL without a signature before any work: %s', async (path) => {
    const { finished } = server().pool.statistics();
    const before = finished.get('run')?.jobs;
    const response = await get(server().url, path);
    expect(response.status).toBeGreaterThanOrEqual(403);
    expect(response.status).toBeLessThan(432);
    expect(server().pool.statistics().finished.get('run')?.jobs).toBe(before);
  });
});

describe('caching', () => {
  it('answers HEAD, conditions and equal requests from one rendering', async () => {
    const path = 'w=33,f=webp/photos/a.jpg';
    const first = await ask(path);
    const { etag, 'cache-control': control } = first.headers;
    expect([first.headers['x-oriel-cache'], control]).toEqual([
      'miss',
      expect.stringMatching(/^public, max-age=604(800|79\d)$/),
    ]);
    const again = await ask(path);
    expect(again.headers).toMatchObject({ etag, 'x-oriel-cache': 'hit' });
    expect(again.body).toEqual(first.body);
    const withQuery = await get(server().url, `${signed(path)}?any=query`);
    expect(withQuery.headers['x-oriel-cache']).toBe('hit');
    const head = await get(server().url, signed(path), { method: 'HEAD' });
    expect([
      head.status,
      head.headers.etag,
      head.headers['content-length'],
      head.body.length,
    ]).toEqual([200, etag, String(first.body.length), 0]);
    const condition = { headers: { 'if-none-match': `"other", W/${etag}` } };
    const same = await get(server().url, signed(path), condition);
    expect([same.status, same.headers.etag, same.body.length]).toEqual([304, etag, 0]);
  });

  it('ends before the URL does', async () => {
    const expires = Math.floor(Date.now() / 1000) + 100;
    const { headers } = await ask(`w=20;expires=${expires}/photos/a.jpg`);
    const [, seconds] = /max-age=(\d+)$/.exec(headers['cache-control']!)!;
    expect(Number(seconds)).toBeGreaterThan(50);
    expect(Number(seconds)).toBeLessThanOrEqual(100);
  });

  it('renders a file again that has changed, and not by another name', async () => {
    const file = join(folder, 'changing.png');
    const found = [];
    for (const [name, width, time] of [
      ['changing.png', 30, 1000],
      ['alias.png', 30, 1000],
      ['changed.png', 31, 2000],
    ] as const) {
      writeFileSync(file, await photo({ width, height: 9 }).png().toBuffer());
      utimesSync(file, time, time);
      if (name !== 'changing.png') symlinkSync('changing.png', join(folder, name));
      const { body, headers } = await ask(`_/photos/${name}`);
      found.push([(await sharp(body).metadata()).width, headers['x-oriel-cache']]);
    }
    expect(found).toEqual([
      [30, 'miss'],
      [30, 'hit'],
      [31, 'miss'],
    ]);
  });
});
