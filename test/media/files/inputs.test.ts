import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DiskStorage } from '../../../src/assets/disk/disk-storage.ts';
import { newAssetId } from '../../../src/assets/storage/identifier.ts';
import { DEFAULT_LIMITS } from '../../../src/images/limits.ts';
import { acceptInput, loadInput } from '../../../src/media/files/inputs.ts';
import type { InputReference } from '../../../src/media/task/task-request.ts';
import { inlinePool } from '../../../src/operations/pool/pool.ts';
import type { Asset } from '../../../src/store/asset.ts';
import { quadrants } from '../../fixtures/images.ts';
import { ANYWHERE, PUBLIC } from '../../upstream/policies.ts';
import { listening, saying, upstream } from '../../upstream/servers.ts';

const folder = mkdtempSync(join(tmpdir(), 'oriel-inputs-'));
const pool = await inlinePool(1);
const files = await DiskStorage.open(folder);
const assets = new Map<string, Asset>();
const png = await quadrants({ width: 8, height: 6 }).png().toBuffer();

afterAll(async () => {
  await pool.close();
  rmSync(folder, { recursive: true });
});

const keeping = {
  files,
  store: { findAsset: async (id: string) => assets.get(id) },
  pool,
  limits: DEFAULT_LIMITS,
  networkPolicy: ANYWHERE,
};

async function keep(mediaType: string, extension: string): Promise<string> {
  const id = newAssetId(extension);
  const written = await files.write(id, png, DEFAULT_LIMITS.fileBytes);
  assets.set(id, { id, accountId: 'acct_1', taskId: null, mediaType, ...written, createdAt: 0 });
  return id;
}

const PARAM = 'input_images[2]';
const OURS = 'https://oriel.example/base';

function admit(text: string, more: Partial<typeof keeping> = {}) {
  return acceptInput(text, PARAM, { ...keeping, publicUrl: OURS, ...more });
}

function load(reference: InputReference, more: Partial<Parameters<typeof loadInput>[2]> = {}) {
  const loading = {
    ...keeping,
    upstream: upstream(),
    signal: new AbortController().signal,
    ...more,
  };
  return loadInput(reference, { param: PARAM, name: 'input-3' }, loading);
}

function data(bytes: Buffer, head = 'image/png;base64'): string {
  return `data:${head},${bytes.toString('base64')}`;
}

const kept = () => readdirSync(folder, { recursive: true, withFileTypes: true }).length;

describe('acceptInput', () => {
  it('keeps a URL, to be fetched later', async () => {
    expect(await admit('HTTPS://Example.com/a b.png?c#d')).toEqual({
      reference: { url: 'https://example.com/a%20b.png?c#d' },
      asset: null,
    });
  });

  it.each(['image/png;base64', ';base64', 'text/html; charset=x ;BASE64'])(
    'stores the image of data:%s by its detected type',
    async (head) => {
      const { reference, asset } = await admit(data(png, head));
      expect(reference).toEqual({ asset: asset?.id });
      expect(asset).toEqual({
        id: expect.stringMatching(/\.png$/),
        mediaType: 'image/png',
        bytes: png.length,
        sha256: createHash('sha256').update(png).digest('hex'),
      });
      expect(await files.read(asset!)).toEqual(png);
    },
  );

  it('accepts base64url, padded or not', async () => {
    const bytes = await quadrants({ width: 9, height: 7 }).png().toBuffer();
    const { asset } = await admit(`data:;base64,${bytes.toString('base64url')}`);
    expect(await files.read(asset!)).toEqual(bytes);
  });

  it('accepts asset URLs of this server', async () => {
    const id = await keep('image/png', 'png');
    const given = `${OURS}/assets/${id}`;
    const expected = { reference: { asset: id }, asset: null };
    expect(await admit(given, { networkPolicy: PUBLIC })).toEqual(expected);
  });

  it.each([
    ['data:image/png;base64', 'expected data:<media type>;base64,<data>'],
    ['data:image/png,%89PNG', 'expected data:<media type>;base64,<data>'],
    ['data:image/png;base64,iVBO*Rw0KGgo=', 'expected data:<media type>;base64,<data>'],
    ['data:image/png;base64,iVBO=Rw0KGgo', 'expected data:<media type>;base64,<data>'],
    ['ftp://example.com/a.png', 'expected an http or https URL'],
    ['a.png', 'expected an http or https URL'],
    ['http://192.168.0.1/a.png', '192.168.0.1 is a private address'],
    [`${OURS}/assets/`, 'there is no such asset'],
    [`${OURS}/assets/..%2f..%2fstore`, 'there is no such asset'],
    [`${OURS}/assets/${'a'.repeat(43)}.png`, 'there is no such asset'],
  ])('refuses %s', async (text, message) => {
    const before = kept();
    await expect(admit(text, { networkPolicy: PUBLIC })).rejects.toMatchObject({
      type: 'invalid_request',
      status: 400,
      param: PARAM,
      message: expect.stringContaining(`${PARAM}: ${message}`),
    });
    expect(kept()).toBe(before);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a page', Buffer.from('<!doctype html><title>Not found</title>')],
    ['half an image', png.subarray(0, 20)],
    ['another kind', Buffer.from('BM and so on')],
  ])('refuses a data: URL with %s', async (_, bytes) => {
    const before = kept();
    await expect(admit(data(bytes))).rejects.toMatchObject({
      type: 'invalid_request',
      param: PARAM,
      message: expect.stringContaining(`${PARAM}: `),
    });
    expect(kept()).toBe(before);
  });

  it('refuses a data: URL larger than a file may be', async () => {
    const limits = { ...DEFAULT_LIMITS, fileBytes: png.length - 1 };
    await expect(admit(data(png), { limits })).rejects.toMatchObject({
      param: PARAM,
      code: 'file_too_large',
    });
    await admit(data(png), { limits: { ...limits, fileBytes: png.length } });
  });

  it('refuses an asset of another media type', async () => {
    const id = await keep('audio/wav', 'wav');
    await expect(admit(`${OURS}/assets/${id}`)).rejects.toMatchObject({
      param: PARAM,
      message: `${PARAM}: expected an image, received audio/wav`,
    });
  });
});

describe('loadInput', () => {
  const serving = async (listener: RequestListener) => ({ url: (await listening(listener)).url });

  it('fetches an image and names it by its detected type', async () => {
    const reference = await serving((_, response) => {
      response.setHeader('content-type', 'image/jpeg');
      response.end(png);
    });
    expect(await load(reference)).toEqual({
      bytes: png,
      mediaType: 'image/png',
      filename: 'input-3.png',
    });
  });

  it('reads an asset', async () => {
    const asset = await keep('image/png', 'png');
    expect(await load({ asset })).toEqual({
      bytes: png,
      mediaType: 'image/png',
      filename: 'input-3.png',
    });
  });

  it('rejects a deleted asset by its param', async () => {
    const asset = await keep('image/png', 'png');
    assets.delete(asset);
    await expect(load({ asset })).rejects.toMatchObject({
      type: 'invalid_request',
      param: PARAM,
      code: 'asset_not_found',
    });
  });

  it.each<[string, RequestListener, object]>([
    [
      'is not there',
      (_, response) => response.writeHead(404).end(),
      { type: 'invalid_request', code: 'fetch_refused' },
    ],
    [
      'is a page',
      (_, response) => response.setHeader('content-type', 'image/png').end('<html>'),
      { type: 'invalid_request' },
    ],
    [
      'redirects in a circle',
      (_, response) => response.writeHead(302, { location: '/' }).end(),
      { type: 'invalid_request', code: 'fetch_redirect' },
    ],
    [
      'is too large',
      (_, response) => response.end(Buffer.alloc(DEFAULT_LIMITS.fileBytes + 1)),
      { type: 'invalid_request', code: 'upstream_answer_too_large' },
    ],
    [
      'breaks off',
      (_, response) => {
        response.writeHead(200, { 'content-length': png.length });
        response.write(png.subarray(0, 10), () => response.destroy());
      },
      { type: 'network_error', code: 'connection_lost' },
    ],
  ])('rejects an input that %s, naming its param', async (_, listener, failure) => {
    await expect(load(await serving(listener))).rejects.toMatchObject({
      ...failure,
      param: PARAM,
      message: expect.stringContaining(`${PARAM}: `),
    });
  });

  it('fetches no private address unless the policy allows it', async () => {
    let asked = 0;
    const reference = await serving((_, response) => {
      asked += 1;
      response.end(png);
    });
    await expect(load(reference, { networkPolicy: PUBLIC })).rejects.toMatchObject({
      type: 'invalid_request',
      code: 'private_address',
      param: PARAM,
    });
    expect(asked).toBe(0);
  });

  it("rejects with the signal's reason once that is aborted", async () => {
    const controller = new AbortController();
    const why = new Error('the deadline');
    const url = await saying(() => controller.abort(why));
    await expect(load({ url }, { signal: controller.signal })).rejects.toMatchObject({
      code: 'aborted',
      param: null,
      cause: why,
    });
  });
});
