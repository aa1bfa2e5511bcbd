import { describe, expect, it } from 'vitest';
import { until } from '../../fixtures/until.ts';
import { gate } from '../../gate.ts';
import { administer, DIALECTS, modelTo, newKey, sharedGateway } from '../../text/gateway-daemon.ts';
import type { DialectName } from '../../text/mock-upstream.ts';
import { plainBody, send } from '../../text/raw.ts';
import { type Script, USAGE } from '../../text/script.ts';

const gateway = sharedGateway();
const GOOD: Script = { steps: [{ text: 'Hello' }], usage: USAGE };
/** What each answer uses: 23 tokens of input and 11 of output. */
const USED = 34;

let accounts = 0;
const fresh = (limits: Parameters<typeof newKey>[2]) => {
  accounts += 1;
  return newKey(gateway().daemon, `loaded-${accounts}`, limits);
};

/** A limit of output in the words of each format. */
const limitOf = (client: DialectName, tokens: number) =>
  client === 'messages'
    ? { max_tokens: tokens }
    : { [client === 'chat' ? 'max_completion_tokens' : 'max_output_tokens']: tokens };

const ask = (key: string, client: DialectName, more: object = {}, signal?: AbortSignal) => {
  const body = plainBody(client, modelTo(client), { ...limitOf(client, 500), ...more });
  return send(gateway().daemon, client, body, { key, ...(signal && { signal }) });
};

/** A script whose answers wait, and the function that lets them go on. */
function holding() {
  const held = gate();
  return {
    script: { ...GOOD, steps: [{ wait: held.passed }, { text: 'Hello' }] },
    open: held.open,
  };
}

/** Sends requests whose answers wait until all others are refused. Returns the numbers of both, by the limit. */
async function storm(key: string, requests: number, accepted: number) {
  const { upstream } = gateway();
  const { script, open } = holding();
  upstream.play(script);
  const counts: Record<string, number> = {};
  let waiting = requests;
  const answers = Array.from({ length: requests }, async (_, index) => {
    const response = await ask(key, DIALECTS[index % 3]!);
    const name = response.headers.get('x-oriel-limit') ?? String(response.status);
    counts[name] = (counts[name] ?? 0) + 1;
    await response.text();
    waiting -= 1;
  });
  // The last to be accepted may reach the upstream after the last refusal.
  await until(() => waiting <= upstream.requests.length).then(open);
  await Promise.all(answers);
  expect(upstream.requests).toHaveLength(accepted);
  return counts;
}

describe('a key with limits of loads', () => {
  it.each([
    ['parallel', { parallel: '7' }, [7, 7]],
    // Each reserves 500 tokens of output and some of input. Afterwards 34 of each count.
    ['tpm', { tpm: '3700' }, [7, 6]],
  ])(
    'has exactly as many of 200 requests at once as its %s allows',
    async (name, limits, rounds) => {
      const key = await fresh(limits);
      for (const accepted of rounds) {
        const refused = { [`key ${name}`]: 200 - accepted };
        expect(await storm(key, 200, accepted)).toEqual({ 200: accepted, ...refused });
      }
    },
  );

  it.each(DIALECTS)('refuses further requests in the format of %s', async (client) => {
    const { upstream } = gateway();
    const { script, open } = holding();
    upstream.play(script);
    const key = await fresh({ parallel: '1' });
    const first = ask(key, client, { stream: true });
    await upstream.received();
    const second = await ask(key, client, { stream: true });
    expect(second.status).toBe(429);
    expect(second.headers.get('retry-after')).toBe('1');
    expect(second.headers.get('x-oriel-limit')).toBe('key parallel');
    expect(await second.json()).toMatchObject({
      ...(client === 'messages' && { type: 'error' }),
      error: {
        type: 'rate_limit',
        message: 'this key may have 1 request in progress at once',
        ...{ param: 'parallel', code: 'parallel_requests_exceeded' },
      },
    });
    open();
    await (await first).text();
    // A stream counts until its end.
    expect((await ask(key, client)).status).toBe(200);
  });

  it('counts a stream until its client leaves', async () => {
    const { upstream } = gateway();
    const { script, open } = holding();
    upstream.play({ ...script, steps: [{ text: 'Hello' }, ...script.steps] }, GOOD);
    const key = await fresh({ parallel: '1' });
    const leaving = new AbortController();
    const response = await ask(key, 'chat', { stream: true }, leaving.signal);
    await response.body!.getReader().read();
    expect((await ask(key, 'chat')).status).toBe(429);
    leaving.abort();
    await expect.poll(async () => (await ask(key, 'chat')).status).toBe(200);
    open();
  });

  it('shares the limits of its team with other keys', async () => {
    const { daemon, upstream } = gateway();
    const { script, open } = holding();
    upstream.play(script, GOOD);
    const account = 'loaded-team';
    await administer(daemon, 'accounts/create', { name: account, plan: 'paid', credits: '10' });
    await administer(daemon, 'teams/create', { name: 't', account, parallel: '1', tpm: '9000' });
    const [{ key: one }, { key: other }] = [
      await administer(daemon, 'keys/create', { account, team: 't' }),
      await administer(daemon, 'keys/create', { account, team: 't' }),
    ];
    const first = ask(one, 'chat');
    await upstream.received();
    const refused = await ask(other, 'messages');
    expect([refused.status, refused.headers.get('x-oriel-limit')]).toEqual([429, 'team parallel']);
    open();
    await (await first).text();
    const answer = await ask(other, 'chat');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-ratelimit-limit-tokens')).toBe('9000');
    await answer.text();
    const last = await ask(one, 'chat');
    const remaining = Number(last.headers.get('x-ratelimit-remaining-tokens'));
    expect(remaining).toBeGreaterThan(9000 - 2 * USED - 600);
    expect(remaining).toBeLessThan(9000 - 2 * USED - 500);
  });
});
