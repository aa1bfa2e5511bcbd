import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { Bucket } from '../../../src/assets/s3/bucket.ts';
import { S3Client } from '../../../src/assets/s3/client.ts';
import type { S3StorageOptions } from '../../../src/assets/s3/s3-storage.ts';
import { newAssetId } from '../../../src/assets/storage/identifier.ts';
import { UpstreamClient } from '../../../src/upstream/client.ts';
import { CEPH, CEPH_CREDENTIALS, type Ceph, startCeph } from '../../engines/ceph.ts';
import { describeWith } from '../../engines/engine.ts';
import { failureWith } from '../../store/fresh-store.ts';
import { describeAssetStorage } from '../conformance.ts';
import { s3Storage } from './s3-storage.ts';

const unavailable = failureWith('storage_unavailable', 503);

describeWith(CEPH, 'S3Storage on Ceph', () => {
  let ceph: Ceph;
  let buckets = 0;
  beforeAll(async () => {
    ceph = await startCeph();
  });
  afterAll(() => ceph?.stop());

  /** A new bucket, with what a storage in it needs. */
  async function fresh(options: Partial<S3StorageOptions> = {}) {
    buckets += 1;
    const bucket = `bucket-${buckets}`;
    const upstream = new UpstreamClient();
    onTestFinished(() => upstream.close());
    const common = {
      upstream,
      endpoint: ceph.endpoint,
      publicEndpoint: ceph.endpoint,
      region: 'us-east-1',
      bucket,
      forcePathStyle: true,
      credentials: () => CEPH_CREDENTIALS,
      connectTimeout: 5000,
      timeout: 20_000,
      connections: 16,
      onAttempt: () => {},
    };
    const client = new S3Client({ ...common, bucketUrl: `${ceph.endpoint}/${bucket}` });
    await client.send('put', { method: 'PUT', path: '', accepted: [200] });
    const objects = new Bucket(common);
    const keys = async () => {
      const all: string[] = [];
      for await (const page of objects.list('', 7)) all.push(...page.map(({ key }) => key));
      return all;
    };
    return { ...(await s3Storage({ ...common, ...options })), bucket, client, objects, keys };
  }

  describeAssetStorage(async () => {
    const { storage, spooled, keys, client } = await fresh({ prefix: 'oriel/files/' });
    return {
      storage,
      spooled,
      stored: async () => (await keys()).map((key) => key.slice('oriel/files/..'.length + 1)),
      replace: async (id, content) => {
        const sha256 = createHash('sha256').update(content).digest('hex');
        await client.send('put', {
          method: 'PUT',
          path: `/oriel/files/${id.slice(0, 2)}/${id}`,
          body: { bytes: content.length, sha256, open: () => content },
          accepted: [200],
        });
      },
    };
  });

  it('never replaces an object', async () => {
    const { storage } = await fresh();
    const id = newAssetId('png');
    await storage.write(id, Buffer.from('first'), 9);
    const file = await storage.spool(id, Buffer.from('second'), 9);
    await expect(file.store()).rejects.toEqual(failureWith('asset_exists', 409));
    await file.store().catch(() => {});
  });

  it('takes an equal object for its own', async () => {
    const { storage } = await fresh();
    const id = newAssetId('png');
    await storage.write(id, Buffer.from('first'), 9);
    const file = await storage.spool(id, Buffer.from('first'), 9);
    await file.store();
  });

  it('rejects a wrong secret and a bucket that does not exist', async () => {
    const { bucket, storage } = await fresh();
    expect(await storage.health()).toBeNull();
    const wrong = { ...CEPH_CREDENTIALS, secretAccessKey: 'wrong' };
    const others = { endpoint: ceph.endpoint, region: 'us-east-1', bucket };
    const forged = await s3Storage({ ...others, credentials: () => wrong });
    await expect(forged.storage.write(newAssetId('png'), Buffer.from('x'), 9)).rejects.toEqual(
      unavailable,
    );
    expect(await forged.storage.health()).toContain('403 SignatureDoesNotMatch');
    const lost = await s3Storage({
      ...others,
      bucket: 'none',
      credentials: () => CEPH_CREDENTIALS,
    });
    await expect(lost.storage.write(newAssetId('png'), Buffer.from('x'), 9)).rejects.toEqual(
      unavailable,
    );
    expect(await lost.storage.health()).toContain('404 NoSuchBucket');
  });

  it('rejects a body that differs from its checksum', async () => {
    const { client } = await fresh();
    const body = { bytes: 5, sha256: '0'.repeat(64), open: () => Buffer.from('hello') };
    const put = client.send('put', { method: 'PUT', path: '/key', body, accepted: [200] });
    await expect(put).rejects.toMatchObject({ detail: expect.stringMatching(/^S3: 400 /) });
  });

  it('serves presigned URLs with the media type, and refuses them when they are changed', async () => {
    const { storage } = await fresh({ linkSeconds: 60 });
    const id = newAssetId('png');
    await storage.write(id, Buffer.from('a picture'), 9);
    const { url } = storage.link({ id, mediaType: 'image/png' })!;
    const response = await fetch(url, { headers: { range: 'bytes=2-4' } });
    expect(response.status).toBe(206);
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(await response.text()).toBe('pic');
    const forged = await fetch(url.replace('image%2Fpng', 'text%2Fhtml'));
    expect(forged.status).toBe(403);
    await forged.arrayBuffer();
  });

  it('lists in pages, copies and deletes', async () => {
    const { objects, storage, keys } = await fresh();
    const ids = Array.from({ length: 9 }, () => newAssetId('png'));
    await Promise.all(ids.map((id) => storage.write(id, Buffer.from(id), 99)));
    const before = await keys();
    expect(before).toHaveLength(9);
    expect(await objects.copy(before[0]!, 'quarantine/2026-01-01/a b+c.png')).toBe(true);
    expect(await objects.copy('none', 'quarantine/none')).toBe(false);
    await objects.delete([...before.slice(1), 'none']);
    expect(await keys()).toEqual([before[0], 'quarantine/2026-01-01/a b+c.png'].sort());
    await storage.emptyQuarantine(Date.UTC(2026, 5, 1));
    expect(await keys()).toEqual([before[0]]);
  });

  it('stores a file of 80 MB and reads ranges of it', async () => {
    const { storage } = await fresh();
    const chunk = Buffer.alloc(2 ** 20, 'harbour');
    async function* content() {
      for (let at = 0; at < 80; at += 1) yield chunk;
    }
    const id = newAssetId('mp4');
    const asset = { id, ...(await storage.write(id, content(), 1e9)) };
    expect(asset.bytes).toBe(80 * 2 ** 20);
    let read = 0;
    for await (const part of storage.chunks(asset)) read += part.length;
    expect(read).toBe(asset.bytes);
    const parts: Buffer[] = [];
    const range = { first: asset.bytes - 10, last: asset.bytes - 1 };
    for await (const part of storage.chunks(asset, { range })) parts.push(part);
    expect(Buffer.concat(parts).equals(chunk.subarray(-10))).toBe(true);
  });

  it('keeps a file in the spool while the gateway is stopped, and stores it afterwards', async () => {
    const { storage, spooled } = await fresh({ timeout: 1000 });
    const content = Buffer.alloc(100_000, 'x');
    const file = await storage.spool(newAssetId('png'), content, 1e9);
    ceph.gateway.kill('SIGSTOP');
    try {
      await expect(file.store()).rejects.toEqual(unavailable);
      await expect(storage.reserve({ bytes: 1, files: 1 })).rejects.toEqual(unavailable);
      expect(spooled()).toEqual([file.id]);
    } finally {
      ceph.gateway.kill('SIGCONT');
    }
    await expect
      .poll(() =>
        file.store().then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect((await storage.read(file)).equals(content)).toBe(true);
    expect(spooled()).toEqual([]);
  });
});
