import { chmodSync, existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sharedDaemon, startDaemon, type TestDaemon } from '../../daemon.ts';
import { describeWithPostgres } from '../../engines/postgres.ts';
import { temporaryFolder } from '../../oriel.ts';
import { runs } from '../../runs.ts';
import { account } from '../account.ts';
import { newKey } from '../gateway-daemon.ts';
import { type MockUpstream, startMockUpstream } from '../mock-upstream.ts';
import { USAGE } from '../script.ts';
import { cacheConfig, HIT_PRICE, requestOf } from './cache-gateway.ts';

let upstream: MockUpstream;
beforeAll(async () => {
  upstream = await startMockUpstream();
});
afterAll(() => upstream.close());

const DONE = { steps: [{ text: 'Done.' }], usage: USAGE };

async function ask(daemon: TestDaemon, content: string, key?: string, more: object = {}) {
  const messages = [{ role: 'user', content }];
  const [path, body] = requestOf('chat', 'to-chat', false, { messages, ...more });
  const response = await daemon.send(path, body, { key });
  const text = await response.text();
  return { status: response.status, cache: response.headers.get('x-oriel-cache'), text };
}

const filesOf = (data: string) =>
  readdirSync(join(data, 'cache'), { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(json|tmp)$/.test(file),
  );

const daemon = sharedDaemon({
  get config() {
    return cacheConfig(upstream.url);
  },
});

it('is there after a kill, without what the kill or a power failure has cut off', async () => {
  const { data } = daemon();
  upstream.play(DONE);
  const names: string[] = [];
  for (const content of ['whole', 'cut', 'removed']) {
    await ask(daemon(), content);
    const added = () =>
      filesOf(data).filter((file) => !names.includes(file) && !file.endsWith('.tmp'));
    await expect.poll(added).toHaveLength(1);
    names.push(...added());
  }
  await daemon().stop('SIGKILL');
  const [, cut, removed] = names.map((name) => join(data, 'cache', name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(join(dirname(cut), 'left.tmp'), '{');
  truncateSync(cut, 500);
  rmSync(removed);
  await daemon.restart();
  const found: string[] = [];
  for (const content of ['whole', 'cut', 'removed']) {
    const { status, cache } = await ask(daemon(), content);
    found.push(`${status} ${cache}`);
    if (content === 'whole')
      expect(filesOf(data)).not.toContainEqual(expect.stringMatching(/tmp$/));
  }
  expect(found).toEqual(['200 hit', '200 miss', '200 miss']);
});

it.skipIf(process.getuid?.() === 0)('answers where its folder cannot be written', async () => {
  const data = temporaryFolder();
  const daemon = await startDaemon({ data, config: cacheConfig(upstream.url) });
  upstream.play(DONE);
  chmodSync(data, 0o500);
  try {
    expect(await ask(daemon, 'unwritable')).toMatchObject({ status: 200, cache: 'miss' });
    expect(await ask(daemon, 'unwritable')).toMatchObject({ status: 200, cache: 'hit' });
    await daemon.logged('cached answers cannot be read or written');
  } finally {
    chmodSync(data, 0o700);
  }
});

it('answers where its folder is a file', async () => {
  const data = temporaryFolder();
  writeFileSync(join(data, 'cache'), 'in the way');
  const daemon = await startDaemon({ data, config: cacheConfig(upstream.url) });
  upstream.play(DONE);
  expect(await ask(daemon, 'in the way')).toMatchObject({ status: 200, cache: 'miss' });
  await daemon.logged('cached answers cannot be read or written');
  expect(await ask(daemon, 'in the way')).toMatchObject({ status: 200, cache: 'hit' });
  expect(existsSync(join(data, 'cache'))).toBe(true);
});

it('charges the sum of all hits and misses, and holds nothing in the end', async () => {
  upstream.play(DONE);
  let accounts = 0;
  const prompts = fc.array(
    fc.record({ prompt: fc.integer({ min: 0, max: 3 }), stream: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 12,
    },
  );
  const property = fc.asyncProperty(prompts, async (asked) => {
    accounts += 1;
    const key = await newKey(daemon(), `sums ${accounts}`, { credits: '100000' });
    const results = await Promise.all(
      asked.map(({ prompt, stream }) => ask(daemon(), `${prompt}`, key, { stream })),
    );
    const hits = results.filter(({ cache }) => cache === 'hit').length;
    const distinct = new Set(asked.map(({ prompt, stream }) => `${prompt} ${stream}`)).size;
    expect(hits).toBe(asked.length - distinct);
    const miss = (USAGE.input - USAGE.cached!) * 1000 + USAGE.cached! * 100 + USAGE.output * 10_000;
    const hit = (USAGE.input + USAGE.output) * HIT_PRICE;
    const sum = Math.round(distinct * miss + hits * hit) / 1e6;
    const credits = async () => (await account(daemon(), key)).credits;
    await expect.poll(credits).toMatchObject({ spent: sum, reserved: 0 });
  });
  await fc.assert(property, { numRuns: runs(40), endOnFailure: true });
});

describeWithPostgres('two nodes', (server) => {
  const settings = {
    get config() {
      return cacheConfig(upstream.url, { store: { driver: 'postgres', url: server().url } });
    },
  };
  const [one, other] = [sharedDaemon(settings), sharedDaemon(settings)];

  it('share their answers, within an account', async () => {
    upstream.play(DONE);
    const first = await ask(one(), 'shared');
    await expect.poll(async () => (await ask(other(), 'shared')).cache).toBe('hit');
    const second = await ask(other(), 'shared');
    expect([first.cache, second.text]).toEqual(['miss', first.text]);
    const key = await newKey(one(), 'stranger');
    expect((await ask(other(), 'shared', key)).cache).toBe('miss');
    expect(existsSync(join(one().data, 'cache'))).toBe(false);
  });
});
