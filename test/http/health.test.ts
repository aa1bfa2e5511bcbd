import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { METRICS_TOKEN, sharedDaemon, startDaemon } from '../daemon.ts';

const daemon = sharedDaemon();

it.each(['/healthz', '/readyz'])('%s answers without a key', async (path) => {
  const response = await fetch(daemon().url + path);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: 'ok' });
});

it('the metrics count requests by route and not by path, and know the store and the pool', async () => {
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

it('the metrics keep the rules for their names', async () => {
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

it('the metrics can be switched off', async () => {
  const off = await startDaemon({ config: { metrics: { enabled: false } } });
  expect((await off.request('/metrics')).status).toBe(404);
});
