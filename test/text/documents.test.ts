import { describe, expect, it, test } from 'vitest';
import { SKIPPED } from '../outside-material.ts';
import { WEATHER } from './conversation.ts';
import { DIALECTS, modelTo, sharedGateway } from './gateway-daemon.ts';
import type { DialectName } from './mock-upstream.ts';
import { areAbsent, faultsOf, faultsOfEvent } from './openapi-documents.ts';
import { eventsOf, plainBody, send } from './raw.ts';
import { type Script, USAGE } from './script.ts';

// Validates answers against the OpenAPI documents of the formats.

test.skipIf(!areAbsent)('answers are held against the documents', ({ skip }) => {
  skip(SKIPPED);
});

const SCRIPTS: Readonly<Record<string, Script>> = {
  'text and reasoning': {
    steps: [{ reasoning: 'Hm.', signature: 'sig', encrypted: 'enc' }, { text: 'Hello ä' }],
    usage: USAGE,
  },
  calls: {
    steps: [
      { text: 'I look.' },
      { call: 'get_weather', id: 'call_1', arguments: '{"city":"Oslo"}' },
      { call: 'get_weather', id: 'call_2', arguments: '{"city":"Rome"}' },
    ],
    usage: USAGE,
  },
  'an answer that ends at the limit': { steps: [{ text: 'Half' }], stop: 'length', usage: USAGE },
  'an empty answer': { steps: [], usage: USAGE },
  'a refusal': { steps: [{ refusal: 'No.' }], usage: USAGE },
  'no usage': { steps: [{ text: 'Uncounted' }], usage: null },
};

const gateway = sharedGateway();

const cases = Object.entries(SCRIPTS).flatMap(([name, script]) =>
  DIALECTS.map((upstream) => [name, upstream, script] as const),
);

/** The body of a response to a request with one tool. */
async function bodyOf(client: DialectName, upstream: DialectName, more: object = {}) {
  const tools =
    client === 'chat'
      ? [{ type: 'function', function: WEATHER }]
      : [{ type: 'function', ...WEATHER, strict: null }];
  const body = plainBody(client, modelTo(upstream), { tools, ...more });
  return (await send(gateway().daemon, client, body)).text();
}

describe.skipIf(areAbsent)('chat answers match the OpenAI document', () => {
  it.each(cases)('%s, upstream %s', async (_, upstream, script) => {
    gateway().upstream.play(script);
    const whole = JSON.parse(await bodyOf('chat', upstream));
    expect(faultsOf('openai', 'CreateChatCompletionResponse', whole)).toEqual([]);
    const streamed = await bodyOf('chat', upstream, {
      stream: true,
      stream_options: { include_usage: true },
    });
    const events = eventsOf(streamed);
    expect(events.pop()!.data).toBe('[DONE]');
    for (const { data } of events) {
      expect(faultsOf('openai', 'CreateChatCompletionStreamResponse', data)).toEqual([]);
    }
  });
});

describe.skipIf(areAbsent)(
  'responses answers match the OpenAI and Open Responses documents',
  () => {
    it.each(cases)('%s, upstream %s', async (_, upstream, script) => {
      gateway().upstream.play(script);
      const whole = JSON.parse(await bodyOf('responses', upstream));
      expect(faultsOf('openai', 'Response', whole)).toEqual([]);
      // A responses upstream is passed on; the mock writes it by OpenAI's document only.
      if (upstream !== 'responses') expect(faultsOf('open', 'ResponseResource', whole)).toEqual([]);
      const streamed = eventsOf(await bodyOf('responses', upstream, { stream: true }));
      for (const { event, data } of streamed) {
        expect(event).toBe(data.type);
        expect(faultsOfEvent('openai', data)).toEqual([]);
        if (upstream !== 'responses') expect(faultsOfEvent('open', data)).toEqual([]);
      }
      const last = streamed.at(-1)!.data.response;
      const items = streamed
        .filter(({ data }) => data.type === 'response.output_item.done')
        .map(({ data }) => data.item);
      expect(last.output).toEqual(items);
    });

    it.each(DIALECTS)('an error after the start, upstream %s', async (upstream) => {
      gateway().upstream.play({
        steps: [{ text: 'Once upon a time' }],
        usage: USAGE,
        fault: { after: 5, how: 'error-event' },
      });
      for (const { data } of eventsOf(await bodyOf('responses', upstream, { stream: true }))) {
        expect(faultsOfEvent('openai', data)).toEqual([]);
      }
    });
  },
);
