import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { modelTo, PAIRS, secretFor, sharedGateway } from '../gateway-daemon.ts';
import type { DialectName } from '../mock-upstream.ts';
import { eventsOf, plainBody, send } from '../raw.ts';
import type { Fault } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

/** The body of an error in the format of each upstream. */
function errorBody(upstream: DialectName, type: string, message: string): object {
  if (upstream === 'messages') {
    return { type: 'error', error: { type, message }, request_id: 'req_upstream' };
  }
  return { error: { message, type, param: null, code: null } };
}

/** Status and types of a refusal by messages and by OpenAI, then status, type and code for the client. */
const REFUSALS: readonly [number, string, string, number, string, string?][] = [
  [400, 'invalid_request_error', 'invalid_request_error', 400, 'invalid_request'],
  [429, 'rate_limit_error', 'rate_limit_exceeded', 429, 'rate_limit'],
  // The client cannot correct the gateway's own key.
  [401, 'authentication_error', 'invalid_request_error', 502, 'service_error', 'upstream_auth'],
  [403, 'permission_error', 'invalid_request_error', 502, 'service_error', 'upstream_auth'],
  [429, 'billing_error', 'insufficient_quota', 503, 'service_error', 'upstream_quota'],
  [500, 'api_error', 'server_error', 502, 'service_error'],
  [529, 'overloaded_error', 'server_overloaded', 503, 'service_error'],
];

const FAULTS: readonly Fault[] = ['error-event', 'reset', 'end', 'half-event'];

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  const sdk = client === 'messages' ? Anthropic : OpenAI;
  const ask = (mode: 'whole' | 'events' | 'helper') =>
    talk(client, gateway().daemon, { model: modelTo(upstream) })
      .user('Hello')
      .ask(mode);

  it.each(REFUSALS)(
    'upstream status %i (%s, %s) becomes %i %s, streamed or not',
    async (status, anthropicType, openaiType, clientStatus, type, code) => {
      const { daemon, upstream: mock } = gateway();
      const upstreamType = upstream === 'messages' ? anthropicType : openaiType;
      const thrown = clientStatus === 400 ? 'BadRequestError' : 'InternalServerError';
      const body = errorBody(upstream, upstreamType, 'the very reason');
      mock.play({ refuse: { status, body, headers: { 'retry-after': '7' } } });
      for (const mode of ['whole', 'events', 'helper'] as const) {
        const error = (await ask(mode).catch((caught: unknown) => caught)) as InstanceType<
          typeof OpenAI.APIError
        >;
        expect(error).toBeInstanceOf(sdk[clientStatus === 429 ? 'RateLimitError' : thrown]);
        expect(error.status).toBe(clientStatus);
        const { error: inner } = (client === 'messages' ? error.error : { error: error.error }) as {
          error: { type: string; message: string; code: string };
        };
        expect(inner.type).toBe(type);
        if (code !== undefined) expect(inner.code).toBe(code);
        if (clientStatus === 400) expect(inner.message).toContain('the very reason');
        if (clientStatus === 429) expect((error.headers as Headers).get('retry-after')).toBe('7');
      }
      expect(mock.requests).toHaveLength(3);
      if (code === undefined) return;
      const provider = upstream === 'messages' ? 'anthropic' : 'openai';
      const msg = 'a provider refused the key or the account of the gateway';
      await expect
        .poll(() => daemon.log)
        .toContainEqual(expect.objectContaining({ msg, provider, code }));
    },
  );

  it('an upstream error that is HTML, empty or not JSON becomes an error with a message', async () => {
    const { daemon, upstream: mock } = gateway();
    const odd = [
      { status: 502, body: '<html><head><title>502 Bad Gateway</title></head><body>nginx' },
      { status: 503, body: '' },
      { status: 500, body: '{"error":' },
      { status: 500, body: '{"error": "just text"}' },
      { status: 500, body: '[null]' },
      { status: 418, body: `{"message": "who is ${secretFor(upstream)}?"}` },
      { status: 400, body: `{"error": {"message": "a bad key, ${secretFor(upstream)}"}}` },
      { status: 302, body: 'moved', headers: { location: 'http://127.0.0.1:1/' } },
    ];
    for (const refuse of odd) {
      mock.play({ refuse });
      const response = await send(daemon, client, plainBody(client, modelTo(upstream)));
      expect(response.status).toBeGreaterThanOrEqual(400);
      const text = await response.text();
      const { error, type } = JSON.parse(text) as { error: { message: string }; type?: string };
      expect(error).toMatchObject({ type: expect.any(String), message: expect.any(String) });
      expect(error.message.length).toBeGreaterThan(10);
      expect(error.message).not.toContain('<html>');
      expect(text).not.toContain(secretFor(upstream));
      if (client === 'messages') expect(type).toBe('error');
    }
  });

  it('a 200 whose body is no answer becomes an error', async () => {
    const { daemon, upstream: mock } = gateway();
    const bodies = ['', '<html></html>', '[]', 'null', '{"error":{"message":"no"}}'];
    for (const body of bodies) {
      mock.play({ raw: { type: 'application/json', body } });
      for (const stream of [false, true]) {
        const asked = plainBody(client, modelTo(upstream), { stream });
        const response = await send(daemon, client, asked);
        expect([body, stream, response.status >= 400]).toEqual([body, stream, true]);
        await response.text();
      }
    }
  });

  it.each(FAULTS)('a stream cut off by %s makes the client throw', async (how) => {
    const { daemon, upstream: mock } = gateway();
    const script = { steps: [{ text: 'Once upon a time', pieces: ['Once ', 'upon ', 'a time'] }] };
    // Cut after the first event, within the text, and at the end of the text. A chat stream is complete
    // once it had a finish_reason.
    for (const after of upstream === 'chat' ? [1, 2, 4] : [3, 5, 6]) {
      mock.play({ ...script, usage: { input: 5, output: 5 }, fault: { after, how } });
      await expect(ask('events')).rejects.toThrow();
      await expect(ask('helper')).rejects.toThrow();
      const body = plainBody(client, modelTo(upstream), { stream: true });
      const response = await send(daemon, client, body);
      const text = await response.text();
      if (response.status !== 200) {
        expect(JSON.parse(text)).toMatchObject({ error: { type: expect.any(String) } });
        continue;
      }
      const events = eventsOf(text);
      const last = events.at(-1)!;
      const known = { type: expect.stringMatching(/error$/), message: expect.any(String) };
      if (client === 'chat') {
        expect(last.data.error).toMatchObject(known);
        expect(text).not.toContain('[DONE]');
        expect(text).not.toMatch(/"finish_reason": ?"/);
      } else if (client === 'messages') {
        expect(last).toMatchObject({ event: 'error', data: { type: 'error', error: known } });
        expect(text).not.toContain('message_stop');
      } else {
        const [error, failed] = events.slice(-2);
        expect(error).toMatchObject({ event: 'error', data: { type: 'error' } });
        expect(failed).toMatchObject({
          event: 'response.failed',
          data: { response: { status: 'failed', error: { message: expect.any(String) } } },
        });
        const numbers = events.map(({ data }) => data.sequence_number);
        expect(numbers).toEqual(numbers.map((_, index) => index));
      }
    }
  });

  it.each(['reset', 'end'] as const)(
    'an answer that is not streamed and cut off by %s is a 502',
    async (fail) => {
      const { upstream: mock } = gateway();
      mock.play({ steps: [{ text: 'Once upon a time' }, { fail }] });
      await expect(ask('whole')).rejects.toMatchObject({ status: 502 });
    },
  );
});
