import { createServer, type RequestListener } from 'node:http';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  MOCK_CREDENTIALS,
  MOCK_REGION,
  type S3Mock,
  startS3Mock,
} from '../../assets/s3/s3-mock.ts';
import { photo, pngPromising } from '../../fixtures/images.ts';
import { openServer } from '../../fixtures/open-server.ts';
import { listening } from '../../fixtures/server.ts';
import { gate } from '../../gate.ts';
import { formOf, send } from '../batch/form.ts';
import { imageOf, manualPool } from '../manual-pool.ts';
import { ownServer, type ServerSettings } from '../test-server.ts';
import { get, KEY, outcome, signed } from './image-client.ts';

let jpeg: Buffer;
beforeAll(async () => {
  jpeg = await photo({ width: 90, height: 60 }).jpeg().toBuffer();
});

/** An origin, and a server that allows it. */
async function withOrigin(
  listener: RequestListener,
  settings: Record<string, unknown> = {},
  pool?: ServerSettings['pool'],
) {
  const origin = await listening(createServer(listener));
  const { host } = new URL(origin);
  const images = { keys: [KEY], hosts: [host], timeout: '10m', ...settings };
  const network = { allow: ['127.0.0.1'], inputPorts: ['1-65535'] };
  const server = await ownServer({ config: { images, network }, ...(pool && { pool }) });
  const pathOf = (name: string, steps = 'w=30') =>
    signed(`${steps}/${encodeURIComponent(`${origin}/${name}`)}`);
  return { origin, host, server, pathOf, ask: (name: string) => get(server.url, pathOf(name)) };
}

describe('an image of a host', () => {
  it('is rendered once for equal requests, and then comes from the cache', async () => {
    const asked: unknown[] = [];
    const { passed, open } = gate();
    const { server, origin, ask } = await withOrigin((request, response) => {
      asked.push(request.url);
      void passed.then(() => response.end(jpeg));
    });
    // As it is written by hand, and as proxies write it that merge slashes.
    const plain = signed(`w=30/${origin}/a.jpg?v=1`.replace('?', '%3F'));
    const all = [
      ...Array.from({ length: 20 }, () => get(server.url, plain)),
      get(server.url, plain.replace('//127', '/127')),
    ];
    await expect.poll(() => asked.length).toBe(1);
    open();
    for (const response of await Promise.all(all)) {
      expect(outcome(response)).toBe('200 image/jpeg');
      expect((await sharp(response.body).metadata()).width).toBe(30);
    }
    await get(server.url, plain);
    expect(asked).toEqual(['/a.jpg?v=1']);
    expect(outcome(await ask('b.jpg'))).toBe('200 image/jpeg');
  });

  const answers: Record<string, RequestListener> = {
    missing: (_, response) => response.writeHead(404).end('none'),
    gone: (_, response) => response.writeHead(410).end('none'),
    forbidden: (_, response) => response.writeHead(403).end('secret of the origin'),
    broken: (_, response) => response.writeHead(500).end('secret of the origin'),
    cut: (_, response) => {
      response.writeHead(200, { 'content-length': 1000 }).write('x');
      setImmediate(() => response.destroy());
    },
    page: (_, response) => response.end('<html></html>'),
    empty: (_, response) => response.end(),
    // A picture of 40,000 million pixels in a few bytes.
    bomb: (_, response) => response.end(pngPromising({ width: 200_000, height: 200_000 })),
    'declares a terabyte': (_, response) =>
      response.writeHead(200, { 'content-length': 1e12 }).flushHeaders(),
    'sends without end': (_, response) => {
      const chunk = Buffer.alloc(2 ** 20);
      const more = () => {
        while (response.write(chunk));
      };
      response.on('drain', more);
      more();
    },
    'redirects to metadata': (_, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end(),
    'redirects to another port': (_, response) =>
      response.writeHead(302, { location: 'http://127.0.0.1:1/a.jpg' }).end(),
    'redirects to a file': (_, response) =>
      response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    'redirects to itself': (request, response) =>
      response.writeHead(302, { location: request.url! }).end(),
  };

  it.each([
    ['missing', '404 source_not_found'],
    ['gone', '404 source_not_found'],
    ['forbidden', '502 source_unavailable'],
    ['broken', '502 source_unavailable'],
    ['cut', '502 source_unavailable'],
    ['page', '415 unsupported_format'],
    ['empty', '422 empty_file'],
    ['bomb', '422 image_too_large'],
    ['declares a terabyte', '422 file_too_large'],
    ['sends without end', '422 file_too_large'],
    ['redirects to metadata', '403 source_not_allowed'],
    ['redirects to another port', '403 source_not_allowed'],
    ['redirects to a file', '502 source_unavailable'],
    ['redirects to itself', '502 source_unavailable'],
  ])('that is %s: %s', async (name, expected) => {
    const { host, ask } = await withOrigin(answers[name]!);
    const response = await ask('a.jpg');
    expect(outcome(response)).toBe(expected);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(String(response.body)).not.toContain(host.split(':')[1]);
    expect(String(response.body)).not.toMatch(/169\.254|secret/);
  });

  it('that sends too slowly: 504', async () => {
    const slow: RequestListener = (_, response) => response.writeHead(200).write('x');
    const { server, host, ask } = await withOrigin(slow, { timeout: '100ms' });
    const response = await ask('a.jpg');
    expect(outcome(response)).toBe('504 source_timeout');
    expect(String(response.body)).not.toContain(host);
    expect(server.log).toContainEqual(expect.objectContaining({ code: 'source_timeout' }));
  });

  it('is served while others of its host are slow', async () => {
    const { passed, open } = gate();
    const { ask } = await withOrigin(({ url }, response) => {
      if (url === '/fast.jpg') response.end(jpeg);
      else void passed.then(() => response.end(jpeg));
    });
    const slow = Array.from({ length: 15 }, (_, at) => ask(`slow-${at}`));
    expect(outcome(await ask('fast.jpg'))).toBe('200 image/jpeg');
    open();
    for (const response of slow) expect(outcome(await response)).toBe('200 image/jpeg');
  });

  it('on no allowed host, or at a private address: 403', async () => {
    const images = { keys: [KEY], hosts: ['127.0.0.1', 'localhost', '*.example.com'] };
    const { url } = await ownServer({ config: { images } });
    for (const source of [
      '127.0.0.1/a',
      'localhost/a',
      'example.com/a',
      'a.example.org/a',
      '127.0.0.1:81/a',
    ]) {
      const path = signed(`w=1/${encodeURIComponent(`http://${source}`)}`);
      expect([source, outcome(await get(url, path))]).toEqual([source, '403 source_not_allowed']);
    }
  });
});

describe('a flood', () => {
  it('of one source is refused beyond its queue, while another is served', async () => {
    const held = gate();
    const pool = manualPool(3, async (job) => {
      if ((job.source as { bytes: Uint8Array }).bytes.length === jpeg.length) await held.passed;
      const { image } = imageOf(9) as { image: object };
      return { ...imageOf(9), images: [image] } as never;
    });
    const slow = await withOrigin((_, response) => response.end(jpeg), {}, pool);
    const variants = Array.from({ length: 68 }, (_, at) =>
      get(slow.server.url, slow.pathOf('a.jpg', `w=${at + 1}`)),
    );
    await expect
      .poll(
        async () => (await slow.server.metrics()).match(/oriel_image_urls_rendering (\d+)/)?.[1],
      )
      .toBe('67');
    const refused = await Promise.race(variants);
    expect(outcome(refused)).toBe('503 overloaded');
    expect(refused.headers['retry-after']).toBe('2');
    // A variant whose rendering is waited for already is no further work.
    const equal = get(slow.server.url, slow.pathOf('a.jpg', 'w=2'));
    held.open();
    const found = (await Promise.all([...variants, equal])).map(outcome);
    expect(found.filter((one) => one === '200 image/png')).toHaveLength(68);
  });

  it('is refused if it waits for longer than images.timeout', async () => {
    const held = gate();
    const pool = manualPool(1, async () => {
      await held.passed;
      return imageOf(9);
    });
    const { server, pathOf } = await withOrigin(
      (_, response) => response.end(jpeg),
      { timeout: '2s' },
      pool,
    );
    const first = get(server.url, pathOf('a.jpg', 'w=1'));
    await expect.poll(() => pool.started).toBe(1);
    expect(outcome(await get(server.url, pathOf('a.jpg', 'w=2')))).toBe('503 overloaded');
    held.open();
    await first;
  });

  it('leaves a slot of the pool to batches', async () => {
    const held = gate();
    const pool = manualPool(3, async (job) => {
      if (job.operation === 'run') await held.passed;
      return imageOf(9);
    });
    // As in the daemon, whose pool has a slot more than its size.
    const { server, pathOf } = await withOrigin(
      (_, response) => response.end(jpeg),
      {},
      Object.assign(pool, { size: 2 }),
    );
    const flood = Array.from({ length: 10 }, (_, at) =>
      get(server.url, pathOf('a.jpg', `w=${at + 1}`)),
    );
    await expect.poll(() => pool.started).toBe(2);
    const form = formOf({ 'a.png': Buffer.from('x') }, { format: 'png' });
    expect((await send(server, 'batch-convert-images', form)).status).toBe(200);
    expect(pool.started).toBe(3);
    held.open();
    await Promise.all(flood);
  });

  it('gets a placeholder that no cache keeps, until the image is there', async () => {
    const held = gate();
    const { server, pathOf } = await withOrigin(
      (_, response) => void held.passed.then(() => response.end(jpeg)),
      { placeholder: '0ms' },
    );
    const first = await get(server.url, pathOf('a.jpg'));
    expect([outcome(first), first.headers['cache-control'], first.headers.etag]).toEqual([
      '200 image/gif',
      'no-store',
      undefined,
    ]);
    expect((await sharp(first.body).metadata()).width).toBe(1);
    held.open();
    await expect
      .poll(async () => outcome(await get(server.url, pathOf('a.jpg'))))
      .toBe('200 image/jpeg');
  });
});

describe('an image of a bucket', () => {
  let mock: S3Mock;
  beforeAll(async () => {
    const opened: (() => Promise<void>)[] = [];
    mock = await startS3Mock(async (listener) => {
      const open = await openServer(createServer(listener));
      opened.push(open.close);
      return open;
    });
    mock.put('folder/a b.jpg', jpeg);
    return async () => {
      for (const close of opened) await close();
    };
  });

  it.each([
    ['s3://bucket/folder/a b.jpg', '200 image/jpeg'],
    ['s3://bucket/none.jpg', '404 source_not_found'],
    ['s3://bucket/folder/../folder/a b.jpg', '404 source_not_found'],
    ['s3://bucket/../bucket/folder/a b.jpg', '404 source_not_found'],
    ['s3://other/folder/a b.jpg', '403 source_not_allowed'],
  ])('%s: %s', async (source, expected) => {
    const assets = {
      ...{ driver: 's3', bucket: 'bucket', endpoint: mock.endpoint, region: MOCK_REGION },
      ...{ forcePathStyle: true, ...MOCK_CREDENTIALS },
    };
    const images = { keys: [KEY], buckets: ['bucket'] };
    const { url } = await ownServer({ config: { images, assets } });
    const response = await get(url, signed(`w=20/${encodeURIComponent(source)}`));
    expect(outcome(response)).toBe(expected);
  });
});
