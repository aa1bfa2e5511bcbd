import { readdirSync, writeFileSync } from 'node:fs';
import type { RequestListener, ServerResponse } from 'node:http';
import { dirname } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { DiskStorage } from '../../../src/assets/disk/disk-storage.ts';
import { newAssetId } from '../../../src/assets/storage/identifier.ts';
import { Failure } from '../../../src/failure.ts';
import { DEFAULT_LIMITS } from '../../../src/images/limits.ts';
import { type StoreOptions, storeResults } from '../../../src/media/files/results.ts';
import type { OutputFile } from '../../../src/media/provider/provider.ts';
import type { TaskRequest } from '../../../src/media/task/task-request.ts';
import { inlinePool } from '../../../src/operations/pool/pool.ts';
import { photo, pngPromising } from '../../fixtures/images.ts';
import { gate } from '../../gate.ts';
import { temporaryFolder } from '../../oriel.ts';
import { type Hook, hookedFiles, systemError } from '../../store/hooked-files.ts';
import { ANYWHERE, PUBLIC } from '../../upstream/policies.ts';
import { listening, saying, upstream } from '../../upstream/servers.ts';
import { IMAGE as ANY_IMAGE, AUDIO, VIDEO } from '../task-requests.ts';

const IMAGE = { ...ANY_IMAGE, n: 2, size: '32x24', native: true };

const MP4 = Buffer.concat([
  Buffer.from('\0\0\0\x20ftypisom\0\0\x02\0isomiso2'),
  Buffer.alloc(300_000),
]);

let png: Buffer;
let wrongSize: Buffer;
beforeAll(async () => {
  png = await photo({ width: 32, height: 24 }).png().toBuffer();
  wrongSize = await photo({ width: 30, height: 24 }).png().toBuffer();
});

const NOWHERE = 'http://127.0.0.1:1';

async function keeping(
  home = NOWHERE,
  more: Partial<StoreOptions> & { readonly files?: DiskStorage } = {},
) {
  const files = more.files ?? (await DiskStorage.open(temporaryFolder()));
  const folder = dirname(dirname(files.pathOf(newAssetId('png'))));
  const options: StoreOptions = {
    settings: { kind: 'openai', baseUrl: `${home}/v1`, apiKey: 'secret', concurrency: 1 },
    upstream: upstream(),
    pool: await inlinePool(2),
    files,
    limits: DEFAULT_LIMITS,
    networkPolicy: ANYWHERE,
    timeouts: { connect: 5000, firstByte: 20_000, idle: 20_000, total: 0 },
    signal: new AbortController().signal,
    onStorageFailure: () => {},
    ...more,
  };
  const kept = () =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  const keep = (outputFiles: readonly OutputFile[], request: TaskRequest = IMAGE) =>
    storeResults({ request }, { files: outputFiles, usage: null }, options);
  return { keep, kept, files };
}

/** A provider that answers each path by its listener, and records requests. */
async function provider(paths: Readonly<Record<string, RequestListener>>) {
  const asked: string[] = [];
  const { url } = await listening((request, response) => {
    asked.push(request.url!);
    const answer = paths[request.url!];
    if (answer) answer(request, response);
    else response.writeHead(410).end();
  });
  return { url, asked };
}

const sending = (body: Uint8Array | string) => (_: unknown, response: ServerResponse) => {
  response.end(body);
};

describe('storeResults', () => {
  it('stores bytes and downloads in order', async () => {
    const { url } = await provider({ '/a.png': sending(png) });
    const { keep, kept, files } = await keeping(url);
    const jpeg = await photo({ width: 32, height: 24 }).jpeg().toBuffer();
    const { result, assets } = await keep([
      { bytes: jpeg, revisedPrompt: 'a white lighthouse' },
      { url: `${url}/a.png` },
    ]);
    expect(assets.map(({ mediaType, bytes }) => [mediaType, bytes])).toEqual([
      ['image/jpeg', jpeg.length],
      ['image/png', png.length],
    ]);
    expect(result).toEqual({
      created: expect.any(Number),
      usage: null,
      outputs: [
        { asset: assets[0]!.id, revisedPrompt: 'a white lighthouse' },
        { asset: assets[1]!.id, revisedPrompt: null },
      ],
    });
    expect(assets[0]!.id).toMatch(/\.jpg$/);
    expect(await files.read(assets[1]!)).toEqual(png);
    expect(kept().sort()).toEqual(assets.map(({ id }) => id).sort());
  });

  it('leaves out more files than requested', async () => {
    const { keep, kept } = await keeping();
    const { assets } = await keep([{ bytes: png }, { bytes: png }, { bytes: png }]);
    expect([assets.length, kept().length]).toEqual([2, 2]);
  });

  it.each([
    ['HTML', () => Buffer.from('<!doctype html><p>Sorry'), /it is HTML rather than an image/],
    ['half an image', () => png.subarray(0, png.length / 2), /damaged/],
    ['a bomb', () => pngPromising({ width: 30_000, height: 30_000 }), /megapixels/],
    ['of another size', () => wrongSize, /30x24 rather than 32x24/],
    ['a film', () => MP4, /video\/mp4 rather than an image/],
    ['nothing', () => Buffer.alloc(0), /it is empty/],
  ])(
    'leaves out %s, and fails as billable_error where no other file came',
    async (_, make, message) => {
      const { keep, kept } = await keeping();
      const { assets } = await keep([{ bytes: make() }, { bytes: png }]);
      expect(kept()).toEqual(assets.map(({ id }) => id));
      const alone = await keeping();
      await expect(alone.keep([{ bytes: make() }])).rejects.toMatchObject({
        type: 'billable_error',
        code: 'unusable_result',
        message: expect.stringMatching(message),
      });
      expect(alone.kept()).toEqual([]);
    },
  );

  it('accepts any size of models without native sizes', async () => {
    const { keep } = await keeping();
    const { assets } = await keep([{ bytes: wrongSize }], { ...IMAGE, native: false });
    expect(assets).toHaveLength(1);
  });

  it.each([
    ['a film', VIDEO, MP4, 'video/mp4'],
    ['an animated image', VIDEO, null, 'image/webp'],
    ['sound', AUDIO, Buffer.from('RIFF\x24\0\0\0WAVEfmt '), 'audio/wav'],
    ['sound in MPEG-4', AUDIO, MP4, 'audio/mp4'],
    ['samples', { ...AUDIO, format: 'pcm' }, Buffer.alloc(1000), 'audio/pcm'],
  ] as const)('accepts %s', async (_, work, bytes, mediaType) => {
    const { keep } = await keeping();
    const made = bytes ?? (await photo({ width: 9, height: 9 }).webp().toBuffer());
    expect((await keep([{ bytes: made }], work)).assets).toMatchObject([{ mediaType }]);
  });

  it.each([
    ['words for samples', { ...AUDIO, format: 'pcm' }, 'Not today'],
    ['samples without a request for pcm', AUDIO, '\0\0\x01\0'],
    ['a page for a film', VIDEO, '<html>'],
  ] as const)('rejects %s', async (_, work, text) => {
    const { keep } = await keeping();
    await expect(keep([{ bytes: Buffer.from(text) }], work)).rejects.toMatchObject({
      type: 'billable_error',
    });
  });
});

describe('a download', () => {
  it("sends headers to the provider's origin only", async () => {
    const seen: (string | undefined)[] = [];
    const note: RequestListener = ({ headers }, response) => {
      seen.push(headers.authorization);
      response.end(png);
    };
    const away = await provider({ '/b': note });
    const home = await provider({
      '/a': note,
      '/to-b': (_, response) => {
        response.writeHead(302, { location: `${away.url}/b` }).end();
      },
    });
    const { keep } = await keeping(home.url);
    for (const url of [`${home.url}/a`, `${away.url}/b`, `${home.url}/to-b`]) {
      expect((await keep([{ url, needsKey: true }])).assets).toHaveLength(1);
    }
    expect((await keep([{ url: `${home.url}/a` }])).assets).toHaveLength(1);
    expect(seen).toEqual(['Bearer secret', undefined, undefined, undefined]);
  });

  it('connects to private addresses other than the provider only where allowed', async () => {
    const away = await provider({ '/b': sending(png) });
    const home = await provider({
      '/a': sending(png),
      '/to-b': (_, response) => {
        response.writeHead(302, { location: `${away.url}/b` }).end();
      },
    });
    const { keep } = await keeping(home.url, { networkPolicy: PUBLIC });
    expect((await keep([{ url: `${home.url}/a` }])).assets).toHaveLength(1);
    for (const url of [`${away.url}/b`, `${home.url}/to-b`, 'file:///etc/passwd', 'data:,']) {
      await expect(keep([{ url }])).rejects.toMatchObject({ type: 'billable_error' });
    }
    expect(away.asked).toEqual([]);
  });

  it('is retried after a transient failure', async () => {
    let times = 0;
    const home = await provider({
      '/a': (_, response) => {
        times += 1;
        if (times === 1) response.writeHead(503).end();
        else if (times === 2) {
          response.writeHead(200, { 'content-length': png.length });
          response.write(png.subarray(0, 500), () => response.destroy());
        } else response.end(png);
      },
    });
    const { keep, kept } = await keeping(home.url);
    const { assets } = await keep([{ url: `${home.url}/a` }]);
    expect(times).toBe(3);
    expect(kept()).toEqual([assets[0]!.id]);
  });

  it('is not retried after a permanent failure', async () => {
    const home = await provider({
      '/html': sending('<html>'),
      '/round': (_, response) => {
        response.writeHead(302, { location: '/round' }).end();
      },
    });
    const { keep } = await keeping(home.url);
    await expect(keep([{ url: `${home.url}/gone` }])).rejects.toThrow(/answered 410/);
    await expect(keep([{ url: `${home.url}/html` }])).rejects.toThrow(/HTML/);
    await expect(keep([{ url: `${home.url}/round` }])).rejects.toThrow(/redirects/);
    expect(home.asked.filter((path) => path !== '/round')).toEqual(['/gone', '/html']);
  });

  it('is aborted at the first bytes of an HTML page', async () => {
    const { passed: left, open: closed } = gate();
    const url = await saying((socket) => {
      socket.on('close', closed);
      socket.write(`HTTP/1.1 200 OK\r\n\r\n<!doctype html>${' '.repeat(600)}`);
    });
    const { keep } = await keeping(url);
    await expect(keep([{ url }], VIDEO)).rejects.toThrow(/HTML/);
    await left;
  });

  it("rejects with the signal's reason, and leaves no file", async () => {
    const controller = new AbortController();
    const reason = new Failure('timeout', 'The deadline is over');
    const { passed: beginning, open: begun } = gate();
    const home = await provider({
      '/endless': (_, response) => {
        response.write(MP4, begun);
      },
    });
    const { keep, kept } = await keeping(home.url, { signal: controller.signal });
    const keepingBoth = keep([{ bytes: MP4 }, { url: `${home.url}/endless` }], VIDEO);
    void beginning.then(() => controller.abort(reason));
    await expect(keepingBoth).rejects.toBe(reason);
    expect(kept()).toEqual([]);
  });

  it.each([
    ['ENOSPC', 'writeFile', /\.new$/],
    ['EIO', 'sync', /\.new$/],
    ['EMFILE', 'open', /\.new$/],
    ['ENOSPC', 'rename', /\.png$/],
  ])('retries after %s of %s, and loses no file', async (code, operation, path) => {
    const disk: { hook: Hook } = { hook: () => {} };
    const { url } = await provider({ '/a.png': sending(png) });
    const reported: (string | null)[] = [];
    const { keep, kept, files } = await keeping(url, {
      files: await DiskStorage.open(temporaryFolder(), {
        files: hookedFiles((...args) => disk.hook(...args)),
      }),
      onStorageFailure: (failure) => {
        reported.push(failure?.code ?? null);
        disk.hook = () => {};
      },
    });
    let failures = 0;
    disk.hook = (name, at) => {
      if (name !== operation || !path.test(at)) return;
      failures += 1;
      // One of both is kept at once.
      if (failures > 1) throw systemError(code);
    };
    const { result, assets } = await keep([{ bytes: png }, { url: `${url}/a.png` }]);
    expect(result.outputs).toHaveLength(2);
    for (const asset of assets) expect(await files.read(asset)).toEqual(png);
    expect(reported).toEqual(['storage_unavailable', null]);
    expect(kept()).toHaveLength(2);
  });

  it('retries until the signal is aborted, and leaves no file', async () => {
    const controller = new AbortController();
    const reason = new Failure('timeout', 'The deadline is over');
    const { keep, kept } = await keeping(NOWHERE, {
      signal: controller.signal,
      files: await DiskStorage.open(temporaryFolder(), {
        files: hookedFiles((operation) => {
          if (operation === 'writeFile') throw systemError('ENOSPC');
        }),
      }),
      onStorageFailure: () => controller.abort(reason),
    });
    await expect(keep([{ bytes: png }])).rejects.toBe(reason);
    expect(kept()).toEqual([]);
  });

  it('reports a file that does not read back as a storage failure', async () => {
    const disk = { garbles: true };
    const folder = temporaryFolder();
    const { keep, kept } = await keeping(NOWHERE, {
      files: await DiskStorage.open(folder, {
        files: hookedFiles((operation, path) => {
          if (operation !== 'sync' || !path.endsWith('.new') || !disk.garbles) return;
          disk.garbles = false;
          writeFileSync(path, 'garbled');
        }),
      }),
    });
    const { assets } = await keep([{ bytes: png }]);
    expect(assets).toHaveLength(1);
    expect(kept()).toEqual([assets[0]!.id]);
  });
});
