import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { painted, quadrants, randomNumbers } from '../../fixtures/images.ts';
import { sharedServer } from '../../fixtures/server.ts';
import { png, pngBomb } from '../media-files.ts';
import { EDITS, GENERATIONS } from './client.ts';
import { mediaDaemon } from './media-daemon.ts';

const POST = 'POST /images/edits';
const UPLOAD = '/v1/images/upload';
const SIZE = { width: 6, height: 4 };
const dataUrl = (bytes: Buffer, type = 'image/png') =>
  `data:${type};base64,${bytes.toString('base64')}`;

/** A server of files and of redirects, which is at a private address as all in a test are. */
const answers = new Map<string, { status?: number; location?: string; body?: Buffer }>([
  ['/a.png', { body: png(5, 5, 1) }],
  ['/page', { body: Buffer.from('<html>') }],
  ['/bomb', { body: pngBomb() }],
  ['/moved', { location: '/a.png' }],
  ['/round', { location: '/round' }],
]);
const server = createServer(({ url }, response) => {
  const { status, location, body } = answers.get(url!) ?? { status: 404 };
  response.writeHead(status ?? (location ? 302 : 200), location ? { location } : {}).end(body);
});
const origin = sharedServer(server);
const at = (path: string) => `${origin()}${path}`;
const port = () => new URL(origin()).port;

describe('reference images', () => {
  const media = mediaDaemon();

  it('reach the provider from all sources, in order', async () => {
    const { first, ann } = await media.fresh();
    const { url } = (await ann.form(UPLOAD, [['file', png(3, 3, 9)]])).body;
    const jpeg = await quadrants(SIZE).jpeg().toBuffer();
    const task = await ann.make({
      model: 'native',
      input_images: [dataUrl(jpeg, 'text/plain'), at('/moved'), url],
    });
    expect(task.status).toBe('completed');
    const images = first.only().parts.filter(({ filename }) => filename !== null);
    expect(images.map(({ name, filename, type }) => [name, filename, type])).toEqual([
      ['image[]', 'input-1.jpg', 'image/jpeg'],
      ['image[]', 'input-2.png', 'image/png'],
      ['image[]', 'input-3.png', 'image/png'],
    ]);
    expect(images.map(({ bytes }) => bytes)).toEqual([jpeg, png(5, 5, 1), png(3, 3, 9)]);
  });

  it('reach another gateway as data: URLs', async () => {
    const { far, ann } = await media.fresh();
    far.jobs({ looks: 0, retryAfter: 0 });
    const body = { model: 'far-film', input_images: [at('/a.png')] };
    expect((await ann.make(body, '/v1/videos/generations')).status).toBe('completed');
    const [asked] = far.to('POST /videos/generations');
    expect(asked!.json.input_images).toEqual([dataUrl(png(5, 5, 1))]);
  });

  it.each([
    ['a page', '/page', 'unsupported_image'],
    ['a bomb', '/bomb', 'image_too_large'],
    ['nothing', '/none', null],
    ['redirects without end', '/round', null],
  ])('that are %s fail the task without a charge', async (_, path, code) => {
    const { first, ann } = await media.fresh();
    const task = await ann.make({ model: 'native', input_images: [at('/a.png'), at(path)] });
    expect(task).toMatchObject({ status: 'failed', error: { type: 'invalid_request' } });
    expect(task.error!.message).toContain('input_images[1]');
    if (code !== null) expect(task.error!.code).toBe(code);
    expect(first.requests).toHaveLength(0);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0, available: 1000 });
  });

  it.each([
    ['a name and password', 'http://me:secret@example.com/a.png'],
    ['data that is a bomb', dataUrl(pngBomb())],
  ])('that are %s are refused', async (_, url) => {
    const ann = await media().client();
    const body = { model: 'any', prompt: 'a', input_images: [dataUrl(png(2, 2)), url] };
    const { status, body: answer } = await ann.post(GENERATIONS, body);
    expect([400, 413]).toContain(status);
    expect(answer.error).toMatchObject({ type: 'invalid_request', param: 'input_images[1]' });
    expect(answer.error.message).not.toContain('secret');
    expect((await ann.ask('/v1/tasks')).body.data).toEqual([]);
  });

  it('that are unknown assets or no images are refused', async () => {
    const { daemon, ann } = await media.fresh();
    const sound = await ann.make({ model: 'speech', format: 'wav' }, '/v1/audio/generations');
    for (const [url, code] of [
      [`${daemon.url}/assets/${'a'.repeat(43)}.png`, 'asset_not_found'],
      [`${daemon.url}/assets/../../../etc/passwd`, 'asset_not_found'],
      [sound.result.audio_url, 'unsupported_format'],
    ]) {
      const { status, body } = await ann.post(GENERATIONS, {
        model: 'any',
        prompt: 'a',
        input_images: [url],
      });
      expect([status, body.error.code, body.error.param]).toEqual([400, code, 'input_images[0]']);
    }
  });
});

const names = new URL('names.mjs', import.meta.url).href;
const ANY = ['1-65535'];

describe('with configured addresses and ports', () => {
  const network = {
    inputPorts: ANY,
    allow: ['127.0.0.1', 'mapped.example.com'],
    deny: ['denied.example.com', '203.0.113.0/24', '1.1.1.1'],
  };
  const media = mediaDaemon({ network }, { NODE_OPTIONS: `--import=${names}` });

  it.each(['127.0.0.1', 'inside.example.com', 'mapped.example.com'])(
    'an input is fetched from an allowed address: %s',
    async (host) => {
      const ann = await media().client();
      const input = `http://${host}:${port()}/moved`;
      expect((await ann.make({ model: 'native', input_images: [input] })).status).toBe('completed');
    },
  );

  it('a redirect to an address that is not allowed fails the task', async () => {
    const ann = await media().client();
    const redirects: [string, string][] = [
      [`http://127.0.0.2:${port()}/a.png`, 'private_address'],
      ['http://169.254.169.254/latest/meta-data', 'private_address'],
      ['http://a.denied.example.com/', 'address_denied'],
    ];
    for (const [location, code] of redirects) {
      answers.set('/away', { location });
      const task = await ann.make({ model: 'native', input_images: [at('/away')] });
      expect(task).toMatchObject({ status: 'failed', error: { type: 'invalid_request', code } });
    }
  });

  it.each([
    ['input_images', 'http://denied.example.com/a', 'address_denied'],
    ['input_images', 'http://127.0.0.2/a', 'private_address'],
    ['callback_url', 'http://1.1.1.1/', 'address_denied'],
    ['callback_url', 'https://example.com:8443/', 'port_denied'],
  ])('refuses %s %s before a task is created', async (field, url, code) => {
    const ann = await media().client();
    const value = field === 'callback_url' ? url : [url];
    const { status, body } = await ann.post(GENERATIONS, {
      model: 'any',
      prompt: 'a',
      [field]: value,
    });
    expect([status, body.error.code]).toEqual([400, code]);
  });
});

describe('where private addresses are not allowed', () => {
  const media = mediaDaemon(
    { network: { inputPorts: ANY, callbackPorts: ANY } },
    { NODE_OPTIONS: `--import=${names}` },
  );

  it.each([
    'http://localhost/a',
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:127.0.0.1]/a',
  ])('%s is refused before a task is created', async (url) => {
    const ann = await media().client();
    for (const [field, value, param] of [
      ['input_images', [url], 'input_images[0]'],
      ['callback_url', url, 'callback_url'],
    ] as const) {
      const { status, body } = await ann.post(GENERATIONS, {
        model: 'any',
        prompt: 'a',
        [field]: value,
      });
      expect([status, body.error.code, body.error.param]).toEqual([400, 'private_address', param]);
    }
    expect((await ann.ask('/v1/tasks')).body.data).toEqual([]);
  });

  it.each(['inside.example.com', 'mapped.example.com'])(
    'a name that resolves to one, %s, fails the task',
    async (name) => {
      const { first, ann } = await media.fresh();
      const url = `http://${name}:${port()}/a.png`;
      const task = await ann.make({ model: 'any', input_images: [url] });
      expect(task).toMatchObject({
        status: 'failed',
        error: { type: 'invalid_request', code: 'private_address' },
      });
      expect(task.error!.message).not.toContain('127.0.0.1');
      expect(first.requests).toHaveLength(0);
      expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
    },
  );

  it('a callback to a name that resolves to one is not sent', async () => {
    const ann = await media().client();
    const url = `http://inside.example.com:${port()}/hook`;
    const { task_id } = await ann.make({ model: 'any', callback_url: url });
    const listed = async () => (await ann.ask(`/v1/tasks/${task_id}/callbacks`)).body.data[0];
    await expect.poll(async () => (await listed()).attempts.length).toBeGreaterThan(0);
    expect((await listed()).attempts[0]).toMatchObject({ status: null });
    expect((await listed()).attempts[0].error).toContain('private address');
  });

  it('results with such URLs are not downloaded', async () => {
    const { first, ann } = await media.fresh();
    first.next('POST /images/generations', { body: { data: [{ url: at('/a.png') }] } });
    const task = await ann.make({ model: 'any' });
    expect(task).toMatchObject({ status: 'failed', error: { type: 'billable_error' } });
    first.next('POST /images/generations', { body: { data: [{ url: `${first.url}/x` }] } });
    first.always('GET /x', { status: 302, headers: { location: at('/a.png') }, body: '' });
    const moved = await ann.make({ model: 'any' });
    expect(moved).toMatchObject({ status: 'failed', error: { type: 'billable_error' } });
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 0 });
  });
});

describe('uploads', () => {
  const media = mediaDaemon({ limits: { paid: { rpm: 1_000_000, uploads: '1MB' } } });

  it.each(['png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'] as const)(
    'of %s are stored unchanged',
    async (format) => {
      const ann = await media().client();
      const bytes = await quadrants(SIZE).toFormat(format).toBuffer();
      const { status, body } = await ann.form(UPLOAD, [['file', bytes]]);
      expect([status, Object.keys(body)]).toEqual([200, ['url']]);
      const kept = await fetch(body.url);
      expect(kept.headers.get('content-type')).toBe(`image/${format}`);
      expect(Buffer.from(await kept.arrayBuffer())).toEqual(bytes);
      expect(await ann.credits()).toMatchObject({ spent: 0 });
    },
  );

  it.each([
    ['text', Buffer.from('hello')],
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    ['a bomb', pngBomb()],
  ])('of %s are refused', async (_, bytes) => {
    const ann = await media().client();
    const { status, body } = await ann.form(UPLOAD, [['file', bytes]]);
    expect([400, 413]).toContain(status);
    expect(body.error).toMatchObject({ type: 'invalid_request', param: 'file' });
  });

  it("beyond the account's storage quota are refused", async () => {
    const { client } = media();
    const [ann, bob] = await Promise.all([client(), client()]);
    const random = randomNumbers(1);
    const noise = painted({ width: 500, height: 400 }, () => [
      random(256),
      random(256),
      random(256),
    ]);
    const bytes = await noise.png({ compressionLevel: 0 }).toBuffer();
    expect((await ann.form(UPLOAD, [['file', bytes]])).status).toBe(200);
    const { status, body } = await ann.form(UPLOAD, [['file', bytes]]);
    expect([status, body.error.code]).toEqual([402, 'storage_full']);
    expect((await ann.form(UPLOAD, [['file', png(2, 2)]])).status).toBe(200);
    expect((await bob.form(UPLOAD, [['file', bytes]])).status).toBe(200);
  });
});

describe('an edit', () => {
  const media = mediaDaemon();

  it('sends its images and its mask to the provider, and waits', async () => {
    const { first, ann } = await media.fresh();
    const mask = await quadrants(SIZE).ensureAlpha(0).png().toBuffer();
    const image = await quadrants(SIZE).png().toBuffer();
    const { status, body } = await ann.form(EDITS, [
      ['model', 'native'],
      ['prompt', 'a hat'],
      ['n', '2'],
      ['size', '1:1'],
      ['image', image],
      ['image', png(3, 3)],
      ['mask', mask],
    ]);
    expect(status).toBe(200);
    expect(body.data).toHaveLength(2);
    const { parts } = first.only();
    const values = parts.flatMap(({ name, value }) => (value === null ? [] : [[name, value]]));
    expect(Object.fromEntries(values)).toMatchObject({ n: '2', size: '1024x1024' });
    expect(parts.find(({ name }) => name === 'mask')!.bytes).toEqual(mask);
    expect(first.to(POST)).toHaveLength(1);
    expect(await ann.credits()).toMatchObject({ reserved: 0, spent: 8 });
  });

  it.each([
    ['without an image', [], 'image'],
    ['of what is no image', [['image', Buffer.from('x')]], 'image'],
    [
      'with a mask of another size',
      [
        ['image', png(8, 8)],
        ['mask', 'alpha'],
      ],
      'mask',
    ],
    [
      'with a mask without alpha',
      [
        ['image', png(8, 8)],
        ['mask', png(8, 8)],
      ],
      'mask',
    ],
  ] as const)('%s is refused without a charge', async (_, files, param) => {
    const ann = await media().client();
    const alpha = await quadrants(SIZE).ensureAlpha(0).png().toBuffer();
    const { status, body } = await ann.form(EDITS, [
      ['model', 'native'],
      ['prompt', 'a'],
      ...files.map(([name, file]) => [name, file === 'alpha' ? alpha : file] as const),
    ]);
    expect([status, body.error.param]).toEqual([400, param]);
    expect(await ann.credits()).toMatchObject({ reserved: 0, available: 1000 });
  });
});
