import { readdirSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endOfAudit, startDaemon, type TestDaemon } from '../../daemon.ts';
import { photo } from '../../fixtures/images.ts';
import { listening } from '../../upstream/servers.ts';
import { MOCK_CREDENTIALS, MOCK_REGION, sendError, startS3Mock } from './s3-mock.ts';

async function onMock(changes: object = {}) {
  const mock = await startS3Mock(listening);
  const daemon = await startDaemon({
    config: {
      ...changes,
      assets: {
        driver: 's3',
        endpoint: mock.endpoint,
        region: MOCK_REGION,
        bucket: 'bucket',
        prefix: 'oriel',
        forcePathStyle: true,
      },
    },
    env: {
      AWS_ACCESS_KEY_ID: MOCK_CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: MOCK_CREDENTIALS.secretAccessKey,
    },
  });
  return { mock, daemon };
}

async function upload(daemon: TestDaemon): Promise<Response> {
  const form = new FormData();
  const png = await photo({ width: 32, height: 24 }).png().toBuffer();
  form.append('file', new Blob([new Uint8Array(png)]), 'photo.png');
  return daemon.request('/v1/images/upload', { method: 'POST', body: form });
}

async function generate(daemon: TestDaemon, more: object = {}): Promise<string> {
  const body = { model: 'sandbox-image', prompt: 'a lighthouse', ...more };
  const response = await daemon.send('/v1/images/generations', body);
  expect(response.status).toBe(202);
  return ((await response.json()) as { task_id: string }).task_id;
}

interface Shown {
  readonly status: string;
  readonly result: { readonly data: readonly { readonly url: string }[] } | null;
}

async function taskOf(daemon: TestDaemon, id: string): Promise<Shown> {
  return (await (await daemon.request(`/v1/tasks/${id}`)).json()) as Shown;
}

async function resultOf(daemon: TestDaemon, id: string): Promise<string> {
  await expect.poll(async () => (await taskOf(daemon, id)).status).toBe('completed');
  return (await taskOf(daemon, id)).result!.data[0]!.url;
}

const spooled = ({ data }: TestDaemon) => readdirSync(join(data, 'assets', 'spool'));

describe('a daemon with its files in a bucket', () => {
  it('stores uploads, inputs and results there, serves them, and goes on while the bucket is away', async () => {
    const { mock, daemon } = await onMock();
    const { url: input } = (await (await upload(daemon)).json()) as { url: string };
    const url = await resultOf(daemon, await generate(daemon, { input_images: [input] }));
    const keys = [...mock.objects.keys()];
    for (const address of [input, url]) {
      const id = new URL(address).pathname.replace('/assets/', '');
      expect(keys).toContain(`oriel/${id.slice(0, 2)}/${id}`);
    }
    expect(spooled(daemon)).toEqual([]);
    expect(readdirSync(join(daemon.data, 'assets'))).toEqual(['spool']);

    const whole = await fetch(url);
    expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'image/png']);
    const bytes = Buffer.from(await whole.arrayBuffer());
    const range = await fetch(url, { headers: { range: 'bytes=10-19' } });
    expect(range.status).toBe(206);
    expect(range.headers.get('content-range')).toBe(`bytes 10-19/${bytes.length}`);
    expect(Buffer.from(await range.arrayBuffer())).toEqual(bytes.subarray(10, 20));
    const tag = whole.headers.get('etag')!;
    expect((await fetch(url, { headers: { 'if-none-match': tag } })).status).toBe(304);
    const head = await fetch(url, { method: 'HEAD' });
    expect(head.headers.get('content-length')).toBe(String(bytes.length));

    mock.objects.clear();
    expect((await fetch(url)).status).toBe(404);
    mock.put(keys.find((key) => url.endsWith(key.slice(-47)))!, Buffer.alloc(bytes.length));
    const damaged = await fetch(url);
    expect(damaged.status).toBe(500);
    expect(await damaged.json()).toMatchObject({ error: { code: 'asset_damaged' } });
    const metrics = await daemon.metrics();
    expect(metrics).toMatch(
      /oriel_s3_request_duration_seconds_count\{operation="put",outcome="ok"\} 2/,
    );
    expect(metrics).toContain('oriel_assets_damaged_total 1');
    await daemon.logged('a file differs from what was written');

    // While the bucket is away, uploads are refused, text is served, and tasks end later.
    mock.objects.clear();
    const ready = async () => (await daemon.request('/readyz')).json();
    expect(await ready()).not.toHaveProperty('assets');
    let puts = 0;
    mock.fault = ({ method }, response) => {
      if (method === 'PUT') puts += 1;
      return sendError(response, 503, 'SlowDown');
    };
    const task = await generate(daemon);
    await expect.poll(() => puts).toBeGreaterThan(0);
    const refused = await upload(daemon);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ error: { code: 'storage_unavailable' } });
    const chat = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] };
    expect((await daemon.send('/v1/chat/completions', chat)).status).toBe(200);
    // A probe is valid for some seconds.
    await expect
      .poll(ready, { interval: 500 })
      .toMatchObject({ status: 'ok', assets: { status: 'degraded' } });
    const { status } = await taskOf(daemon, task);
    expect(status).toBe('processing');
    expect(spooled(daemon)).toHaveLength(1);

    mock.fault = () => false;
    const late = await fetch(await resultOf(daemon, task));
    expect(late.status).toBe(200);
    await late.arrayBuffer();
    expect(spooled(daemon)).toEqual([]);
    expect(mock.objects.size).toBe(1);
    expect(JSON.stringify(daemon.log)).not.toContain(MOCK_CREDENTIALS.secretAccessKey);
  });

  it('survives tasks whose deadline comes while their results are stored', async () => {
    const { mock, daemon } = await onMock({ limits: { taskDeadline: '1s' } });
    // The bucket answers only after the deadline.
    const late: ServerResponse[] = [];
    mock.fault = ({ method }, response) => {
      if (method !== 'PUT') return false;
      late.push(response);
      return true;
    };
    const tasks = [await generate(daemon), await generate(daemon)];
    for (const id of tasks) {
      await expect.poll(async () => (await taskOf(daemon, id)).status).toBe('expired');
    }
    for (const response of late) sendError(response, 503, 'SlowDown');
    await expect.poll(() => spooled(daemon)).toEqual([]);
    mock.fault = () => false;
    expect((await daemon.request('/readyz')).status).toBe(200);
    await endOfAudit(daemon, 'SIGTERM');
  });
});
