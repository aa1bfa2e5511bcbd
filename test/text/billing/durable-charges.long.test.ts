import { execFileSync } from 'node:child_process';
import { statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startDaemon, type TestDaemon } from '../../daemon.ts';
import { temporaryFolder } from '../../oriel.ts';
import { DIALECTS, gatewayConfig, modelTo, newKey, PAIRS } from '../gateway-daemon.ts';
import { type DialectName, startMockUpstream } from '../mock-upstream.ts';
import { plainBody, send } from '../raw.ts';
import { USAGE } from '../script.ts';

const KILLS = Number(process.env['ORIEL_KILLS'] ?? 2);
const CLIENTS = 24;

/** Credits that one answer to `plainBody` costs. */
const COST = (18 * 1000 + 5 * 100 + 11 * 10_000) / 1_000_000;

/** Answers that the account on the full disk can pay. */
const PAID = 40;

/** The end marker of a complete stream. */
const END: Readonly<Record<DialectName, string>> = {
  chat: 'data: [DONE]',
  responses: 'event: response.completed',
  messages: 'event: message_stop',
};

async function upstreamConfig(): Promise<object> {
  const upstream = await startMockUpstream();
  onTestFinished(() => upstream.close());
  upstream.play({ steps: [{ text: 'Hello' }], usage: USAGE });
  const config = gatewayConfig(upstream.url) as { models: object };
  return {
    ...config,
    models: {
      ...config.models,
      sandbox: {
        type: 'text',
        routes: [{ provider: 'sandbox', model: 'chat' }],
        price: { input: 1000, output: 10_000 },
      },
      free: { type: 'text', routes: [{ provider: 'sandbox', model: 'chat' }] },
    },
  };
}

/** Whether a response is complete. */
async function isWhole(response: Response, dialect: DialectName, stream: boolean) {
  if (!response.ok) return false;
  if (!stream) return (await response.text()) !== '';
  let text = '';
  for await (const chunk of response.body!) {
    text += Buffer.from(chunk as Uint8Array).toString();
    if (text.includes(END[dialect])) return true;
  }
  return false;
}

async function json(daemon: TestDaemon, path: string, key?: string) {
  const init = key === undefined ? {} : { headers: { authorization: `Bearer ${key}` } };
  // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
  return (await (await daemon.request(path, init)).json()) as any;
}

describe('kill -9 during text requests', () => {
  it('loses no charge of a complete response', { timeout: KILLS * 60_000 }, async () => {
    const data = temporaryFolder();
    const config = await upstreamConfig();
    const cases = [
      ...PAIRS.map(([client, upstream]) => [client, modelTo(upstream)] as const),
      ...DIALECTS.map((client) => [client, 'sandbox'] as const),
    ].flatMap(([client, model]) => [
      { client, model, stream: false },
      { client, model, stream: true },
    ]);
    const answered = new Map<string, number>();
    for (let kill = 0; kill < KILLS; kill += 1) {
      const daemon = await startDaemon({ data, config });
      let left = 60 + Math.floor(Math.random() * 200);
      const client = async (start: number) => {
        for (let at = start; left > 0; at += 1) {
          const { client, model, stream } = cases[at % cases.length]!;
          const response = await send(daemon, client, plainBody(client, model, { stream }));
          if (!(await isWhole(response, client, stream))) continue;
          answered.set(model, (answered.get(model) ?? 0) + 1);
          left -= 1;
          if (left === 0) daemon.child.kill('SIGKILL');
        }
      };
      await Promise.allSettled(Array.from({ length: CLIENTS }, (_, at) => client(at * 5)));
      await daemon.ended;
    }
    const daemon = await startDaemon({ data, config });
    const { data: usage } = await json(daemon, '/v1/account/usage?by=model');
    const counted = new Map<string, number>(
      usage.map(({ model, requests }: { model: string; requests: number }) => [model, requests]),
    );
    const lost = [...answered].filter(([model, times]) => (counted.get(model) ?? 0) < times);
    expect(lost).toEqual([]);
    // A response that ended unread may be charged; none is charged twice.
    const sum = (counts: Map<string, number>) => [...counts.values()].reduce((a, b) => a + b, 0);
    expect(sum(counted)).toBeLessThanOrEqual(sum(answered) + KILLS * CLIENTS);
    const { credits } = await json(daemon, '/v1/account');
    const spent = usage.reduce((total: number, row: { credits: number }) => total + row.credits, 0);
    expect(credits.spent).toBeCloseTo(spent, 6);
    expect(credits.reserved).toBe(0);
  });
});

/** A file system of its own of some MB; null where this process may not mount one. */
function smallDisk(): string | null {
  const path = temporaryFolder();
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', path], {
      stdio: 'pipe',
    });
  } catch {
    return null;
  }
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', path]);
  });
  return path;
}

describe('a full disk', () => {
  it('refuses paid text with 503, answers free text, and recovers', {
    timeout: 120_000,
  }, async (test) => {
    const data = smallDisk();
    if (data === null) return test.skip();
    const daemon = await startDaemon({ data, config: await upstreamConfig() });
    // A request holds 0.7 credits: 11 tokens of output, and its bytes and 500 tokens of input.
    const key = await newKey(daemon, 'full-disk', { credits: (PAID * COST + 0.6).toFixed(6) });
    const ballast = join(data, 'ballast');
    // Fills the disk to the last block: the rest of the journal's own block takes a few more charges.
    const { bavail, bsize } = statfsSync(data);
    writeFileSync(ballast, Buffer.alloc(bavail * bsize));
    const ask = (model: string, stream = false) => {
      return send(daemon, 'chat', plainBody('chat', model, { stream, max_tokens: 11 }), { key });
    };
    const statuses: number[] = [];
    for (let n = 0; n < 2 * PAID; n += 1) {
      const response = await ask('to-chat', n % 2 === 0);
      await response.text();
      statuses.push(response.status);
    }
    const good = statuses.filter((status) => status === 200).length;
    expect(good).toBeLessThan(PAID);
    expect(new Set(statuses.slice(good))).toEqual(new Set([503]));
    const refused = await ask('to-chat');
    expect(await refused.json()).toMatchObject({
      error: {
        type: 'service_error',
        code: 'store_unavailable',
        message: 'the store cannot write: ENOSPC: no space left on device',
      },
    });
    const ready = await fetch(`${daemon.url}/readyz`);
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ error: { code: 'store_unavailable' } });
    expect(await daemon.metrics()).toContain('\noriel_store_writable 0\n');
    await daemon.logged('the store cannot be written; retrying every second');
    // A model without a price needs no store.
    expect((await ask('free')).status).toBe(200);
    // Charges that could not be written stay held.
    const { credits } = await json(daemon, '/v1/account', key);
    expect(credits.spent + credits.reserved).toBeCloseTo(good * COST, 6);

    unlinkSync(ballast);
    await daemon.logged('the store can be written again');
    expect((await fetch(`${daemon.url}/readyz`)).status).toBe(200);
    for (let n = good; n < PAID; n += 1) expect((await ask('to-chat')).status).toBe(200);
    expect((await ask('to-chat')).status).toBe(402);
    await daemon.stop('SIGKILL');
    const again = await startDaemon({ data, config: await upstreamConfig() });
    expect((await json(again, '/v1/account', key)).credits).toMatchObject({ reserved: 0 });
    expect((await json(again, '/v1/account', key)).credits.spent).toBeCloseTo(PAID * COST, 6);
  });
});
