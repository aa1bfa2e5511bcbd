import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OWNER_KEY, startDaemon, type TestDaemon } from '../daemon.ts';
import { Client } from '../media/tasks/client.ts';
import { mediaConfig, PROVIDER_KEYS, startProviders } from '../media/tasks/media-daemon.ts';
import { temporaryFolder } from '../oriel.ts';
import { withoutNetwork } from '../second-run.ts';

const VIDEOS = '/v1/videos/generations';
const TASKS = [
  ['/v1/images/generations', { model: 'any', prompt: 'a boat' }],
  ['/v1/images/generations', { model: 'far-native', prompt: 'a boat', size: '64x64' }],
  [VIDEOS, { model: 'film', prompt: 'a boat' }],
  [VIDEOS, { model: 'far-film', prompt: 'a boat' }],
  ['/v1/audio/generations', { model: 'speech', prompt: 'Hello' }],
] as const;

/** Runs each task, and returns its end, its results byte by byte, and what the account has spent. */
async function run(daemon: TestDaemon): Promise<unknown[]> {
  const client = new Client(daemon, OWNER_KEY);
  const outcomes: unknown[] = [];
  for (const [path, body] of TASKS) {
    const { status, result, error } = await client.make(body, path);
    const urls: string[] = JSON.stringify(result).match(/http[^"]+/g) ?? [];
    const files = await Promise.all(
      [...new Set(urls)].map(async (url) => {
        const { pathname, search } = new URL(url);
        const response = await daemon.request(pathname + search);
        return Buffer.from(await response.arrayBuffer()).toString('base64');
      }),
    );
    outcomes.push({ path, status, error, files });
  }
  const { body } = await client.post('/v1/moderations', { model: 'judge-1', input: 'Hello' });
  const { results, model } = body;
  return [...outcomes, { results, model }, await client.credits()];
}

it('replays images, videos, audio and moderation with the same results and charges', async () => {
  const providers = await startProviders();
  const config = mediaConfig(providers);
  const dir = join(temporaryFolder(), 'cassettes');
  const first = await startDaemon({ config, args: ['--record', dir] });
  providers.first.images('url');
  const recorded = await run(first);
  expect(recorded).toEqual(
    expect.arrayContaining([expect.objectContaining({ path: VIDEOS, status: 'completed' })]),
  );
  expect((await first.stop()).status).toBe(0);
  await providers.close();
  const second = await startDaemon({ config: withoutNetwork(config), args: ['--replay', dir] });
  expect(await run(second)).toEqual(recorded);
  const client = new Client(second, OWNER_KEY);
  const { error } = await client.make({ model: 'film', prompt: 'a blue boat' }, VIDEOS);
  expect(error).toMatchObject({ code: 'cassette_miss' });
  expect(error!.message).toMatch(/prompt: recorded "a boat", requested "a blue boat"/);
  const { status, stderr } = await second.stop();
  expect([status, stderr]).toEqual([1, expect.stringContaining('cassette miss: no recording')]);
  for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const bytes = readFileSync(join(entry.parentPath, entry.name), 'latin1');
    for (const key of Object.values(PROVIDER_KEYS)) expect(bytes).not.toContain(key);
  }
});
