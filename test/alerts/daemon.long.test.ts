import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { startDaemon } from '../daemon.ts';
import { openServer } from '../fixtures/open-server.ts';
import { until } from '../fixtures/until.ts';
import { ROOT, temporaryFolder } from '../oriel.ts';
import { residentCommand } from '../resident.ts';

const oriel = residentCommand();

const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
const README = readFileSync(join(ROOT, 'src', 'alerts', 'README.md'), 'utf8');

/** The receiver of the documentation, and the lines that it prints. */
async function startReceiver() {
  const file = join(temporaryFolder(), 'receiver.mjs');
  writeFileSync(file, /^```js\n(.*?)^```$/ms.exec(README)![1]!.replace('server.listen(', LISTEN));
  const env = { ...process.env, ALERT_SECRET: SECRET, PORT: '0' };
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    child.kill();
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);
  return { port: await next(), next };
}

const LISTEN = "server.on('listening', () => console.log(server.address().port)).listen(";

/** A provider that answers until it is told to fail. */
const provider = { isDown: false };
const answering = createServer(async (request, response) => {
  for await (const _ of request);
  const message = { role: 'assistant', content: 'Hello' };
  const usage = { prompt_tokens: 1, completion_tokens: 100, total_tokens: 101 };
  const choices = [{ index: 0, message, finish_reason: 'stop' }];
  const answer = { id: 'a', object: 'chat.completion', created: 1, model: 'up', choices, usage };
  response.writeHead(provider.isDown ? 503 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(provider.isDown ? { error: { message: 'closed' } } : answer));
});

it('a daemon reports budgets, a route, a disk, and repeats nothing after a restart', async () => {
  const { url, close } = await openServer(answering);
  onTestFinished(close);
  const receiver = await startReceiver();
  const data = temporaryFolder();
  const file = join(data, 'oriel.yaml');
  const config = {
    network: { allowPrivateAddresses: true },
    routing: { retries: 0, cooldown: { after: 2, for: '6s' } },
    alerts: {
      errorShare: 0.9,
      diskFree: '0B',
      webhooks: [{ name: 'ops', url: `http://127.0.0.1:${receiver.port}/`, secret: SECRET }],
    },
    providers: { acme: { kind: 'openai', baseUrl: `${url}/v1`, apiKey: 'sk-acme-1234567' } },
    models: {
      n: { type: 'text', routes: [{ provider: 'acme', model: 'up' }] },
      m: {
        type: 'text',
        routes: [{ provider: 'acme', model: 'up' }],
        price: { output: 10_000 },
        maxOutputTokens: 100,
      },
    },
  };
  const start = () => startDaemon({ data, config });
  let daemon = await start();
  const owner = async (path: string, body?: object) => {
    const response = await daemon.send(`/v1/admin/${path}`, body);
    return ((await response.json()) as { result: Record<string, string> }).result;
  };
  const { key } = await owner('keys/create', { account: 'owner', name: 'builds', budget: 10 });
  const chat = async (token?: string, model = 'm') => {
    const response = await daemon.send(
      '/v1/chat/completions',
      { model, messages: [{ role: 'user', content: 'Hello' }] },
      { key: token },
    );
    await response.text();
    return response.status;
  };

  // One credit each.
  for (const [requests, percent] of [[5, 50] as const, [3, 80] as const, [2, 100] as const]) {
    for (let count = 0; count < requests; count += 1) expect(await chat(key)).toBe(200);
    const sums = `${percent}% of its budget: ${percent / 10} of 10 credits.`;
    expect(await receiver.next()).toContain(
      `The key "builds" of the account "owner" has spent ${sums}`,
    );
  }

  // Refused by a limit of the key: no errors of the model, which no alert names.
  const limited = await owner('keys/create', { account: 'owner', tpm: 1 });
  for (let count = 0; count < 25; count += 1) expect(await chat(limited.key, 'n')).toBe(429);

  provider.isDown = true;
  while ((await chat()) !== 503);
  const down = await receiver.next();
  expect(down).toMatch(
    /^The route to "up" at the provider "acme" is down for the account acct_\w+: /,
  );
  expect(down).not.toContain('sk-acme');
  provider.isDown = false;
  await until(async () => (await chat()) === 200);
  expect(await receiver.next()).toBe('The route to "up" at the provider "acme" works again.');

  config.alerts.diskFree = '1000TB';
  await daemon.reload(config);
  expect(await receiver.next()).toMatch(/^The disk of the data folder of ".+" has .+ GB free of /);
  const list = async () => {
    const { out } = await oriel(['alerts', 'list', '--json', '--config', file, '--data', data]);
    const { alerts } = JSON.parse(out) as { alerts: { type: string; link: string }[] };
    return alerts;
  };
  const types = [
    ...['disk.low', 'route.recovered', 'route.down'],
    ...['budget.reached', 'budget.reached', 'budget.reached'],
  ];
  expect((await list()).map(({ type }) => type)).toEqual(types);
  expect((await list()).every(({ link }) => link.startsWith(`${daemon.url}/console/`))).toBe(true);
  const lines = daemon.log.filter(({ alert }) => alert !== undefined);
  expect(lines.map(({ type }) => type)).toEqual(types.toReversed());
  const metrics = await daemon.metrics();
  expect(metrics).toContain('oriel_alerts_total{type="budget.reached"} 3');
  expect(metrics).toContain('oriel_alert_deliveries_total{webhook="ops",outcome="delivered"} 6');

  expect((await daemon.stop()).status).toBe(0);
  daemon = await start();
  // The same budget and disk: the next message is that of the test.
  expect(await chat(key)).toBe(402);
  await daemon.logged('request');
  const checked = await oriel(['alerts', 'test', 'ops', '--config', file, '--data', data]);
  expect(checked.stderr).toMatch(/^ops: delivered in \d+ ms/);
  expect(await receiver.next()).toBe('This is a test of a webhook. Alerts look like it.');
  expect((await daemon.stop()).status).toBe(0);

  // Without a daemon the command sends it itself, and its result is in the audit log.
  const alone = await oriel(['alerts', 'test', '--config', file, '--data', data]);
  expect(alone).toMatchObject({ status: 0, stderr: expect.stringMatching(/^ops: delivered/) });
  expect(await receiver.next()).toContain('This is a test');
  const audited = await oriel(['audit', '--act', 'alerts.test', '--json', '--data', data]);
  expect(audited.out.match(/"alerts\.test"/g)).toHaveLength(2);
  expect((await list()).map(({ type }) => type)).toEqual(types);
});
