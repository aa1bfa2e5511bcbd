import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MOCK_CREDENTIALS, MOCK_REGION, startS3Mock } from '../assets/s3/s3-mock.ts';
import { type DaemonSettings, OWNER_KEY, startDaemon, type TestDaemon } from '../daemon.ts';
import { describeWithPostgres } from '../engines/postgres.ts';
import { openServer } from '../fixtures/open-server.ts';
import { until } from '../fixtures/until.ts';
import { temporaryFolder } from '../oriel.ts';
import { settled } from '../text/account.ts';
import { chatBody, clientOf, createBatch, endOf, lineOf, resultsIn } from './batch-client.ts';

/** Requests of all batches; ORIEL_BATCH_LINES=100000 is the whole audit. */
const LINES = Number(process.env['ORIEL_BATCH_LINES'] ?? 300);

/** Requests of one batch. */
const MOST = 50_000;

const KILLS = LINES > 1000 ? 10 : 2;

/** A provider that answers at once, and counts its requests. */
let provider: Awaited<ReturnType<typeof listen>>;
let requests = 0;
/** Names of nodes that have sent requests. */
const working = new Set<string>();
/** Milliseconds until an answer. */
let wait = 0;
const listen = (listener: RequestListener) => openServer(createServer(listener));
const ANSWER = JSON.stringify({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 },
});
beforeAll(async () => {
  provider = await listen((request, response) => {
    request.resume();
    requests += 1;
    working.add(request.url!.split('/')[1]!);
    const headers = { 'content-type': 'application/json' };
    setTimeout(() => response.writeHead(200, headers).end(ANSWER), wait);
  });
});
afterAll(() => provider.close());

/** Credits of one request. */
const COST = 0.01;

const configOf = (node = 'alone', more: object = {}) => ({
  owner: { credits: 1_000_000 },
  limits: { paid: { rpm: 1_000_000, uploads: '10GB' } },
  network: { allowPrivateAddresses: true },
  providers: { one: { kind: 'openai', baseUrl: `${provider.url}/${node}/v1`, apiKey: 'sk-test' } },
  models: {
    priced: {
      ...{ type: 'text', routes: [{ provider: 'one', model: 'm' }], maxOutputTokens: 100 },
      price: { input: 1000, output: 1000, batch: 0.5 },
    },
  },
  ...more,
});

const linesFor = (count: number) =>
  Array.from({ length: count }, (_, index) => lineOf(`r${index}`, chatBody(`${index}`)));

/** Checks that each request has one result and one charge. */
async function expectEachOnce(client: OpenAI, daemon: TestDaemon, ids: readonly string[]) {
  let total = 0;
  for (const id of ids) {
    const ended = await endOf(client, id, 3_600_000);
    expect(ended).toMatchObject({ status: 'completed', error_file_id: null });
    const results = await resultsIn(client, ended.output_file_id);
    const { total: lines, completed } = ended.request_counts!;
    expect(completed).toBe(lines);
    expect(results).toHaveLength(lines);
    expect(new Set(results.map(({ custom_id }) => custom_id)).size).toBe(lines);
    total += lines;
  }
  const { credits } = await settled(daemon, OWNER_KEY, total * COST);
  expect(credits.spent).toBeCloseTo(total * COST, 6);
  const usage = await daemon.request('/v1/account/usage');
  const { data } = (await usage.json()) as { data: { requests: number }[] };
  expect(data.reduce((sum, row) => sum + row.requests, 0)).toBe(total);
}

/** Peak of resident memory of a process, in megabytes. */
function peakOf({ child }: TestDaemon): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)![1]) / 1024);
}

it('gives each request one result and one charge, however often the daemon is killed', async () => {
  requests = 0;
  const settings: DaemonSettings = { data: temporaryFolder(), config: configOf() };
  let daemon = await startDaemon(settings);
  const ids: string[] = [];
  for (let left = LINES; left > 0; left -= MOST) {
    const lines = linesFor(Math.min(left, MOST));
    ids.push((await createBatch(clientOf(daemon.url), lines)).id);
  }
  const peaks: number[] = [];
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const next = (LINES * kill) / (KILLS + 1);
    await expect.poll(() => requests > next, { interval: 1, timeout: 3_600_000 }).toBe(true);
    peaks.push(peakOf(daemon));
    await daemon.stop('SIGKILL');
    daemon = await startDaemon(settings);
  }
  await expectEachOnce(clientOf(daemon.url), daemon, ids);
  const repeated = requests - LINES;
  process.stderr.write(`peaks of ${peaks.join(', ')} MB; ${repeated} requests were repeated\n`);
}, 7_200_000);

describeWithPostgres('batches of several nodes', (server) => {
  it('shares one batch between three nodes, and takes over what a killed one leaves', async () => {
    wait = 20;
    working.clear();
    const storage = await startS3Mock(listen);
    const config = {
      store: { driver: 'postgres', url: server().url },
      assets: {
        ...{ driver: 's3', endpoint: storage.endpoint, region: MOCK_REGION, bucket: 'bucket' },
        ...{ forcePathStyle: true, ...MOCK_CREDENTIALS },
      },
      batches: { parallel: 2 },
    };
    const nodes = new Map<string, TestDaemon>();
    for (const name of ['first', 'second', 'third']) {
      nodes.set(name, await startDaemon({ config: configOf(name, config) }));
    }
    const first = nodes.get('first')!;
    const client = clientOf(first.url);
    // A node works on up to eight ranges of 100 lines.
    const { id } = await createBatch(client, linesFor(900));
    await until(() => working.has('first') && working.size > 1);
    // The second or the third one: which of them is faster is a matter of luck.
    const [other] = [...working].filter((name) => name !== 'first');
    await nodes.get(other!)!.stop('SIGKILL');
    await expectEachOnce(client, first, [id]);
  });
});
