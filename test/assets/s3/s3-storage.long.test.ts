import { readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { S3StorageOptions } from '../../../src/assets/s3/s3-storage.ts';
import { newAssetId } from '../../../src/assets/storage/identifier.ts';
import { Failure } from '../../../src/failure.ts';
import { temporaryFolder } from '../../oriel.ts';
import { failureWith } from '../../store/fresh-store.ts';
import { listening } from '../../upstream/servers.ts';
import { describeAssetStorage } from '../conformance.ts';
import {
  etagOf,
  MOCK_CREDENTIALS,
  MOCK_REGION,
  type MockFault,
  type S3Mock,
  sendError,
  startS3Mock,
} from './s3-mock.ts';
import { s3Storage } from './s3-storage.ts';

const DAY = 86_400_000;
const unavailable = failureWith('storage_unavailable', 503);

async function onMock(options: Partial<S3StorageOptions> = {}) {
  const mock = await startS3Mock(listening);
  const opened = await s3Storage({
    endpoint: mock.endpoint,
    region: MOCK_REGION,
    credentials: () => MOCK_CREDENTIALS,
    ...options,
  });
  return { mock, ...opened };
}

/** Fails the first requests of a method, then answers. */
function failing(times: number, method: string, fail: MockFault): MockFault {
  let left = times;
  return (request, response) => {
    if (request.method !== method || left === 0) return false;
    left -= 1;
    return fail(request, response);
  };
}

const slowDown: MockFault = (_, response) => sendError(response, 503, 'SlowDown');
const reset: MockFault = (_, response) => {
  response.socket!.destroy();
  return true;
};

const CONTENT = Buffer.alloc(300_000, 'harbour');

/** Descriptors of this process that lead to a file, also after it was removed. */
function openFilesOf(path: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${descriptor}`);
      return target.startsWith(path) ? [target] : [];
    } catch {
      return [];
    }
  });
}

async function written(storage: Awaited<ReturnType<typeof onMock>>['storage']) {
  const id = newAssetId('png');
  return { id, ...(await storage.write(id, CONTENT, 1e9)) };
}

describe('S3Storage on a mock', () => {
  describeAssetStorage(async () => {
    const { mock, storage, spooled } = await onMock({ prefix: 'oriel/files/' });
    return {
      storage,
      spooled,
      stored: async () =>
        [...mock.objects.keys()].map((key) => {
          expect(key).toMatch(/^oriel\/files\/..\//);
          return key.slice('oriel/files/..'.length + 1);
        }),
      replace: async (id, content) => mock.put(`oriel/files/${id.slice(0, 2)}/${id}`, content),
    };
  });

  it('follows no redirect', async () => {
    const { storage, mock } = await onMock();
    mock.fault = (_, response) => {
      response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end();
      return true;
    };
    const failure = await written(storage).catch((error: Failure) => error);
    expect(failure).toEqual(unavailable);
    expect((failure as Failure).detail).toContain('307');
    expect((failure as Failure).message).not.toContain('127.0.0.1');
  });

  it.each([
    ['503 SlowDown', slowDown],
    ['a reset connection', reset],
    [
      '409 ConditionalRequestConflict',
      ((_, response) => sendError(response, 409, 'ConditionalRequestConflict')) as MockFault,
    ],
  ])('retries a put after %s', async (_, fault) => {
    const { storage, mock, spooled } = await onMock();
    mock.fault = failing(2, 'PUT', fault);
    const asset = await written(storage);
    expect((await storage.read(asset)).equals(CONTENT)).toBe(true);
    expect(spooled()).toEqual([]);
  });

  it('takes an object for its own whose first acknowledgement was lost', async () => {
    const { storage, mock } = await onMock();
    let isFirst = true;
    mock.fault = async ({ method, key, headers }, response) => {
      if (method !== 'PUT' || !isFirst) return false;
      isFirst = false;
      mock.objects.set(key, {
        content: CONTENT,
        sha256: String(headers['x-amz-meta-sha256']),
        modifiedAt: Date.now(),
      });
      response.socket!.destroy();
      return true;
    };
    const asset = await written(storage);
    expect((await storage.read(asset)).equals(CONTENT)).toBe(true);
  });

  it('never replaces an object', async () => {
    const { storage, mock } = await onMock();
    const id = newAssetId('png');
    mock.put(`${id.slice(0, 2)}/${id}`, Buffer.from('another'));
    const file = await storage.spool(id, CONTENT, 1e9);
    await expect(file.store()).rejects.toEqual(failureWith('asset_exists', 409));
    expect(mock.objects.get(`${id.slice(0, 2)}/${id}`)!.content.toString()).toBe('another');
  });

  it('keeps a spooled file while the bucket refuses it', async () => {
    const { storage, mock, spooled, attempts } = await onMock();
    mock.fault = slowDown;
    const file = await storage.spool(newAssetId('png'), CONTENT, 1e9);
    await expect(file.store()).rejects.toEqual(unavailable);
    expect(attempts.every((attempt) => attempt === 'put slow_down')).toBe(true);
    expect(spooled()).toEqual([file.id]);
    expect(await file.isIntact()).toBe(true);
    await expect(storage.reserve({ bytes: 1, files: 1 })).rejects.toEqual(unavailable);
  });

  it('fails at once after several failures in a row', async () => {
    const { storage, mock } = await onMock();
    mock.fault = slowDown;
    const file = await storage.spool(newAssetId('png'), CONTENT, 1e9);
    for (let turn = 0; turn < 2; turn += 1) {
      await expect(file.store()).rejects.toEqual(unavailable);
    }
    const sent = mock.requests.length;
    await expect(file.store()).rejects.toMatchObject({ retryAfter: expect.any(Number) });
    expect(mock.requests).toHaveLength(sent);
  });

  it('gives up a service that does not answer', async () => {
    const { storage, mock, attempts } = await onMock({ timeout: 200 });
    mock.fault = () => true;
    await expect(written(storage)).rejects.toEqual(unavailable);
    expect(attempts[0]).toBe('put first_byte_timeout');
  });

  it('reports wrong credentials without naming them', async () => {
    const credentials = { ...MOCK_CREDENTIALS, secretAccessKey: 'wrong/secret' };
    const { storage, attempts } = await onMock({ credentials: () => credentials });
    const failure = (await written(storage).catch((error: unknown) => error)) as Failure;
    expect(failure).toEqual(unavailable);
    expect(attempts[0]).toBe('put signature_does_not_match');
    expect(`${failure.message} ${failure.detail}`).not.toMatch(/wrong|mock/);
    expect(await storage.health()).toContain('403 SignatureDoesNotMatch');
  });

  /** Cuts the first two answers to GET after 100,000 bytes. */
  const cutting = (mock: S3Mock, etag: string) =>
    failing(2, 'GET', ({ key, headers }, response) => {
      const { content } = mock.objects.get(key)!;
      const [, first = 0] = /^bytes=(\d+)-/.exec(headers.range ?? '') ?? [];
      const rest = content.subarray(Number(first));
      response.writeHead(headers.range === undefined ? 200 : 206, {
        etag,
        'content-length': rest.length,
        'content-range': `bytes ${first}-${content.length - 1}/${content.length}`,
      });
      response.write(rest.subarray(0, 100_000), () => response.socket!.destroy());
      return true;
    });

  it('resumes a download that is cut in the middle', async () => {
    const { storage, mock } = await onMock();
    const asset = await written(storage);
    mock.fault = cutting(mock, etagOf(CONTENT));
    expect((await storage.read(asset)).equals(CONTENT)).toBe(true);
    const ranges = mock.requests.slice(1).map(({ headers }) => headers.range);
    expect(ranges).toHaveLength(3);
    expect(ranges[2]).toMatch(/^bytes=\d+-299999$/);
  });

  it('reports an object that changes during a download as damaged', async () => {
    const { storage, mock } = await onMock();
    const asset = await written(storage);
    mock.fault = cutting(mock, '"another"');
    await expect(storage.read(asset)).rejects.toEqual(failureWith('asset_damaged', 500));
  });

  it('aborts a download when the reader leaves or the signal aborts', async () => {
    const { storage, mock } = await onMock();
    const asset = await written(storage);
    let closed = 0;
    mock.fault = ({ method }, response) => {
      if (method !== 'GET') return false;
      response.on('close', () => {
        closed += 1;
      });
      response.writeHead(200, { etag: '"x"', 'content-length': CONTENT.length });
      response.write(CONTENT.subarray(0, 100_000));
      return true;
    };
    const leaving = storage.chunks(asset);
    await leaving.next();
    await leaving.return();
    await expect.poll(() => closed).toBe(1);
    const controller = new AbortController();
    const reason = new Failure('invalid_request', 'the client disconnected', { status: 499 });
    const aborted = (async () => {
      for await (const _ of storage.chunks(asset, { signal: controller.signal })) {
        setImmediate(() => controller.abort(reason));
      }
    })();
    await expect(aborted).rejects.toBe(reason);
    await expect.poll(() => closed).toBe(2);
  });

  it('opens no file for an upload that is aborted, and closes the file of one under way', async () => {
    const { storage, mock } = await onMock();
    const upload = async () => {
      const file = await storage.spool(newAssetId('png'), CONTENT, 1e9);
      return { file, openFiles: () => openFilesOf(file.path) };
    };
    const reason = new Failure('timeout', 'the task did not end before its deadline');

    // A file that is opened although nothing reads it fails once it is removed, which would end the process.
    const early = await upload();
    await expect(early.file.store(AbortSignal.abort(reason))).rejects.toBe(reason);
    await early.file.discard();
    expect(early.openFiles()).toEqual([]);

    const late = await upload();
    const controller = new AbortController();
    mock.fault = ({ method }) => {
      if (method === 'PUT') controller.abort(reason);
      return method === 'PUT';
    };
    await expect(late.file.store(controller.signal)).rejects.toBe(reason);
    await late.file.discard();
    await expect.poll(late.openFiles).toEqual([]);

    mock.fault = () => false;
    const removed = await upload();
    rmSync(removed.file.path);
    await expect(removed.file.store()).rejects.toEqual(unavailable);
  });

  it('leaves connections for results while downloads are slow', async () => {
    const { storage, mock } = await onMock({ connections: 4, timeout: 2000 });
    const asset = await written(storage);
    mock.fault = ({ method }, response) => {
      if (method !== 'GET') return false;
      response.writeHead(200, { etag: '"x"', 'content-length': CONTENT.length });
      response.write(CONTENT.subarray(0, 100_000));
      return true;
    };
    const slow = [storage.chunks(asset), storage.chunks(asset), storage.chunks(asset)];
    for (const chunks of slow) await chunks.next();
    await expect(storage.read(asset)).rejects.toEqual(unavailable);
    await written(storage);
    for (const chunks of slow) await chunks.return();
  });

  it('empties the spool of an earlier process', async () => {
    const spool = join(temporaryFolder());
    writeFileSync(join(spool, newAssetId('png')), 'left');
    writeFileSync(join(spool, 'mine.txt'), 'mine');
    const { spooled } = await onMock({ spool });
    expect(spooled()).toEqual(['mine.txt']);
  });

  it('presigns URLs for clients at another address', async () => {
    const { storage } = await onMock({
      linkSeconds: 60,
      publicEndpoint: 'https://files.example.com',
      prefix: 'p/',
    });
    const id = newAssetId('png');
    const { url, seconds } = storage.link({ id, mediaType: 'image/png' })!;
    expect(seconds).toBe(60);
    const { origin, pathname, searchParams } = new URL(url);
    expect(`${origin}${pathname}`).toBe(
      `https://files.example.com/bucket/p/${id.slice(0, 2)}/${id}`,
    );
    expect(searchParams.get('response-content-type')).toBe('image/png');
    expect(url).not.toContain(MOCK_CREDENTIALS.secretAccessKey);
  });
});

describe('S3Storage.sweep', () => {
  const keyOf = (id: string) => `p/${id.slice(0, 2)}/${id}`;

  async function withOrphans(options: Partial<S3StorageOptions> = {}) {
    const opened = await onMock({ prefix: 'p/', ...options });
    const now = Date.now();
    const ids = [3, 2, 0].map((days) => {
      const id = newAssetId('png');
      opened.mock.put(keyOf(id), Buffer.from('x'), now - days * DAY);
      return id;
    }) as [string, string, string];
    opened.mock.put('p/notes.txt', Buffer.from('mine'), now - 9 * DAY);
    opened.mock.put(`q/${ids[0].slice(0, 2)}/${ids[0]}`, Buffer.from('other'), now - 9 * DAY);
    return { ...opened, ids, now };
  }

  it('moves old objects without a record to the quarantine, and no others', async () => {
    const { storage, mock, ids, now } = await withOrphans();
    const [orphan, known, fresh] = ids;
    const before = [...mock.objects.keys()];
    const span = { from: 0, to: now };
    const swept = await storage.sweep(async (id) => id === known, span);
    expect(swept).toEqual({ removed: 0, quarantined: 1, foreign: 0 });
    const day = new Date(now).toISOString().slice(0, 10);
    const moved = `p/quarantine/${day}/${orphan}`;
    expect([...mock.objects.keys()].sort()).toEqual(
      [...before.filter((key) => key !== keyOf(orphan)), moved].sort(),
    );
    expect(mock.objects.has(keyOf(fresh))).toBe(true);
    // Once a day.
    expect(await storage.sweep(async () => false, span)).toMatchObject({ quarantined: 0 });
    await storage.emptyQuarantine(now + 30 * DAY);
    expect(mock.objects.has(moved)).toBe(true);
    await storage.emptyQuarantine(now + 32 * DAY);
    expect(mock.objects.has(moved)).toBe(false);
    expect(mock.objects.has('p/notes.txt')).toBe(true);
  });

  it('leaves objects that are older or newer than the records', async () => {
    const { storage, ids, now } = await withOrphans();
    const span = { from: now - 2.5 * DAY, to: now - 2.4 * DAY };
    expect(await storage.sweep(async () => false, span)).toMatchObject({ foreign: ids.length - 1 });
    const { storage: without } = await withOrphans();
    expect(await without.sweep(async () => false, null)).toMatchObject({ foreign: 2 });
  });

  it('is done by the leader alone', async () => {
    const { storage, mock, now } = await withOrphans({ isLeader: () => false });
    await storage.sweep(async () => false, { from: 0, to: now });
    await storage.emptyQuarantine(now + 90 * DAY);
    expect(mock.requests).toEqual([]);
  });

  it('reads listings of several pages', async () => {
    const { storage, mock } = await onMock();
    const now = Date.now();
    for (let count = 0; count < 2500; count += 1) {
      const id = newAssetId('png');
      mock.put(`${id.slice(0, 2)}/${id}`, Buffer.from('x'), now - 2 * DAY);
    }
    const asked = new Set<string>();
    const isKnown = async (id: string) => {
      asked.add(id);
      return true;
    };
    await storage.sweep(isKnown, { from: 0, to: now });
    expect(asked.size).toBe(2500);
  });
});
