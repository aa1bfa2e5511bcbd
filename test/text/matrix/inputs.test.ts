import { describe, expect, it } from 'vitest';
import { DATA_URL, HTTP_URL, MODES, PIXEL, WEATHER } from '../conversation.ts';
import { modelTo, PAIRS, sharedGateway } from '../gateway-daemon.ts';
import { USAGE } from '../script.ts';
import { talk } from '../talk.ts';

const gateway = sharedGateway();

const SEEN = { steps: [{ text: 'A cat.' }], usage: USAGE };

/** The two images in the format of each upstream. */
const SHOWN = {
  chat: [
    { type: 'image_url', image_url: { url: DATA_URL } },
    { type: 'image_url', image_url: { url: HTTP_URL } },
  ],
  responses: [
    { type: 'input_image', image_url: DATA_URL },
    { type: 'input_image', image_url: HTTP_URL },
  ],
  messages: [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } },
    { type: 'image', source: { type: 'url', url: HTTP_URL } },
  ],
} as const;

const IMAGES = [{ text: 'What is this?' }, { image: DATA_URL }, { image: HTTP_URL }] as const;

const SCHEMA = {
  type: 'object',
  properties: { animal: { type: 'string' }, legs: { type: 'integer' } },
  required: ['animal', 'legs'],
  additionalProperties: false,
};

describe.each(PAIRS)('a client of %s, an upstream of %s', (client, upstream) => {
  it('images in data URLs and http URLs reach the upstream', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(SEEN);
    const { text } = await talk(client, daemon, { model: modelTo(upstream) })
      .user(IMAGES)
      .ask();
    expect(text).toBe('A cat.');
    const { body } = mock.only();
    const { content } = (body.messages ?? body.input).at(-1);
    expect(content).toHaveLength(3);
    expect(content.slice(1)).toMatchObject(SHOWN[upstream]);
  });

  it('images in a tool result reach the upstream', async () => {
    const { daemon, upstream: mock } = gateway();
    mock.play(
      {
        steps: [{ call: 'get_weather', id: 'call_a1', arguments: '{"city":"Oslo"}' }],
        usage: USAGE,
      },
      SEEN,
    );
    const conversation = talk(client, daemon, { model: modelTo(upstream), tools: [WEATHER] });
    await conversation.user('Show me.').ask();
    conversation.results({ id: 'call_a1', content: IMAGES });
    const { text } = await conversation.ask();
    expect(text).toBe('A cat.');
    const { text: sent, body } = mock.requests[1]!;
    expect(sent).toContain(PIXEL);
    expect(sent).toContain(HTTP_URL);
    // The result follows its call, also if the dialect moves its images.
    if (upstream === 'messages') {
      const [result] = body.messages.at(-1).content;
      expect(result).toMatchObject({ type: 'tool_result', tool_use_id: 'call_a1' });
    } else if (upstream === 'responses') {
      expect(body.input.filter(({ type }: { type: string }) => /output$/.test(type))).toMatchObject(
        [{ call_id: 'call_a1' }],
      );
    } else {
      const roles = body.messages.map(({ role }: { role: string }) => role);
      expect(roles.slice(0, 3)).toEqual(['user', 'assistant', 'tool']);
    }
  });

  it.each(MODES)('a JSON schema for the answer reaches the upstream: %s', async (mode) => {
    const { daemon, upstream: mock } = gateway();
    const json = '{"animal":"cat","legs":4}';
    mock.play({
      steps: [{ text: json, pieces: ['{"ani', 'mal":"cat",', '"legs":4}'] }],
      usage: USAGE,
    });
    const { text, raw } = await talk(client, daemon, { model: modelTo(upstream), schema: SCHEMA })
      .user('Which animal?')
      .ask(mode);
    // The text is the JSON alone, without a tool call or code fence.
    expect(text).toBe(json);
    expect(JSON.stringify(raw)).not.toMatch(/tool_use|function_call"/);
    const { body } = mock.only();
    if (upstream === 'chat') {
      expect(body.response_format).toMatchObject({
        type: 'json_schema',
        json_schema: { schema: SCHEMA, name: expect.any(String) },
      });
    } else if (upstream === 'responses') {
      expect(body.text.format).toMatchObject({
        type: 'json_schema',
        schema: SCHEMA,
        name: expect.any(String),
      });
    } else {
      expect(body.output_config.format).toEqual({ type: 'json_schema', schema: SCHEMA });
    }
    expect(body.tools).toBeUndefined();
  });
});
