import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { METRICS_TOKEN, sharedDaemon, startDaemon } from '../../../daemon.ts';
import { temporaryFolder } from '../../../oriel.ts';
import { imageOf, manualPool } from '../../manual-pool.ts';
import { startServer } from '../../test-server.ts';

const daemon = sharedDaemon();

it.each(['/healthz', '/readyz', '/readyz?for=text'])('%s answers without a key', async (path) => {
  const response = await fetch(daemon().url + path);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: 'ok' });
});

it('/readyz refuses requests that it does not know', async () => {
  const response = await fetch(`${daemon().url}/readyz?for=texts`);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: 'for' } });
});

it('/metrics counts requests by route, not by path, and has store and pool', async () => {
  for (const id of ['one', 'two']) await daemon().request(`/v1/tasks/${id}`);
  await daemon().request('/v1/account');
  expect((await fetch(`${daemon().url}/metrics`)).status).toBe(401);
  expect((await daemon().request('/metrics')).status).toBe(401);
  const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
  const response = await fetch(`${daemon().url}/metrics`, { headers });
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await response.text();
  const value = (name: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length + 1),
    );
  const count = (route: string, status: number) =>
    value(
      `oriel_http_request_duration_seconds_count{method="GET",route="${route}",status="${status}"}`,
    );
  expect(count('/v1/tasks/:task_id', 404)).toBe(2);
  expect(count('/v1/account', 200)).toBe(1);
  expect(value('oriel_pool_threads')).toBeGreaterThan(0);
  expect(value('oriel_accounts')).toBe(1);
  expect(value('oriel_tasks{status="pending"}')).toBe(0);
  expect(value('oriel_credits{kind="granted"}')).toBeGreaterThan(0);
  expect(value('oriel_store_writable')).toBe(1);
  expect(value('oriel_store_checkpoint_failing')).toBe(0);
  expect(value('oriel_store_journals')).toBe(1);
  expect(value('oriel_store_journal_bytes')).toBeGreaterThan(0);
  expect(value('oriel_store_pending_charges')).toBe(0);
  expect(value('oriel_store_commit_duration_seconds_count')).toBeGreaterThan(0);
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(0);
});

it('/metrics follows the naming rules of Prometheus', async () => {
  const text = await daemon().metrics();
  const gauges = [...text.matchAll(/^# TYPE (\S+) gauge$/gm)].map(([, name]) => name);
  expect(gauges.filter((name) => /_(total|count|sum|bucket)$/.test(name!))).toEqual([]);
  const { error, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  // Prometheus' own tool, where it is installed.
  if (error === undefined) expect(stdout + stderr).toBe('');
});

it('metrics.enabled: false removes /metrics', async () => {
  const off = await startDaemon({ config: { metrics: { enabled: false } } });
  expect((await off.request('/metrics')).status).toBe(404);
});

async function readinessOf(url: string): Promise<string> {
  const response = await fetch(`${url}/readyz`);
  const { error } = (await response.json()) as { error?: { code: string; message: string } };
  return `${response.status} ${error?.code}: ${error?.message}`;
}

it('/readyz gives 503 while image work is stuck', async () => {
  const pool = { ...manualPool(1, () => imageOf(1)), probe: async () => 'no work was begun' };
  const server = await startServer({ pool });
  onTestFinished(() => server.close());
  expect(await readinessOf(server.url)).toBe('503 pool_unavailable: no work was begun');
});

// Opening a pipe that nobody writes to keeps one of libuv's threads, as a disk that hangs does.
it('/readyz gives 503 while the disk does not answer, and 200 afterwards', async () => {
  const server = await startServer({});
  onTestFinished(() => server.close());
  const pipe = join(temporaryFolder(), 'pipe');
  expect(spawnSync('mkfifo', [pipe]).status).toBe(0);
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4);
  const opened = Array.from({ length: threads }, () => open(pipe, 'r'));
  const states = await Promise.all([readinessOf(server.url), readinessOf(server.url)]);
  const writer = openSync(pipe, 'w');
  for (const handle of await Promise.all(opened)) await handle.close();
  closeSync(writer);
  const late = '503 disk_unavailable: the data folder: no answer within 5 s';
  expect(states).toEqual([late, late]);
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
});
