import { describe, expect, it } from 'vitest';
import { modelTo, PAIRS, sharedGateway, UPSTREAM_KEYS } from './gateway-daemon.ts';
import { eventsOf, plainBody, send } from './raw.ts';
import { cutAt, everyByte } from './script.ts';

const gateway = sharedGateway();

/** The texts of a stream, with the deltas of each field joined. */
function textsIn(stream: string): string {
  const texts = new Map<string, string>();
  const walk = (value: unknown, name: string): void => {
    if (typeof value === 'string') texts.set(name, (texts.get(name) ?? '') + value);
    else if (typeof value === 'object' && value !== null) {
      for (const [key, part] of Object.entries(value)) walk(part, key);
    }
  };
  for (const { data } of eventsOf(stream)) walk(data, '');
  return [...texts.values()].join('\n');
}

describe('the key of an upstream, split over deltas', () => {
  it.each(PAIRS)('client %s, upstream %s: is redacted in the response', async (client, to) => {
    const { daemon, upstream } = gateway();
    const key = UPSTREAM_KEYS[to === 'messages' ? 'anthropic' : 'openai'];
    const body = plainBody(client, modelTo(to), { stream: true });
    for (const pieces of [[...key], [key.slice(0, 9), key.slice(9)], [`a ${key} z`]]) {
      const text = pieces.join('');
      // Deltas of a translation have no bytes of a chunk left.
      for (const cut of client === to ? [everyByte, cutAt(700)] : [cutAt(700)]) {
        upstream.play({
          steps: [
            { text, pieces },
            { text: ' and more' },
            { call: 'notify', id: 'call_1', arguments: JSON.stringify({ text }) },
          ],
          cut,
        });
        const response = await send(daemon, client, body);
        expect(response.status).toBe(200);
        const received = textsIn(await response.text());
        expect(received).toContain('[key]');
        expect(received).toContain(' and more');
        expect(received).not.toContain(key);
      }
    }
  });
});

describe('errors of an upstream', () => {
  const addresses =
    'https://10.0.0.3:8443/v1/x?k=1: 10.0.0.3:8443, [fd00::3]:80, fd00::3, llm.internal:8000, 127.0.0.1';

  it.each(PAIRS)('client %s, upstream %s: name no provider and no address', async (client, to) => {
    const { daemon, upstream } = gateway();
    const address = new URL(upstream.url).host;
    const provider = to === 'messages' ? 'anthropic' : 'openai';
    const message = `Invalid value at ${provider}, ${provider.toUpperCase()}: ${addresses} ${address}`;
    for (const stream of [false, true]) {
      for (const status of [400, 401, 404, 429, 500]) {
        upstream.play({ refuse: { status, body: { error: { type: 'failed', message } } } });
        const response = await send(daemon, client, plainBody(client, modelTo(to), { stream }));
        const received = `${await response.text()}${JSON.stringify([...response.headers])}`;
        // With its colons, because `fd00` alone is found in random identifiers.
        expect(received).not.toMatch(
          /openai|anthropic|10\.0\.0|fd00::|internal:|127\.0\.0\.1|:8443/i,
        );
        const id = response.headers.get('x-request-id');
        const line = () => daemon.log.find(({ requestId, detail }) => requestId === id && detail);
        await expect.poll(line).toBeDefined();
        const detail = expect.stringContaining('10.0.0.3:8443');
        expect(line()).toMatchObject({ provider, detail });
      }
    }
  });
});
