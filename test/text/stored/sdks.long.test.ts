import { createOpenAI } from '@ai-sdk/openai';
import { Agent, OpenAIConversationsSession, OpenAIProvider, Runner, tool } from '@openai/agents';
import { tool as aiTool, generateText, jsonSchema, type ModelMessage, stepCountIs } from 'ai';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { newKey, sharedGateway } from '../gateway-daemon.ts';
import { type Script, USAGE } from '../script.ts';

const gateway = sharedGateway();

let count = 0;
const script = (...steps: NonNullable<Script['steps']>): Script => {
  count += 1;
  return { id: `sdk${count}x`, steps, usage: USAGE };
};

const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false as const,
};
const call = { call: 'time', id: 'call_1', arguments: '{"city":"Rome"}' };

/** What the upstream was sent last, as text. */
const sent = () => gateway().upstream.requests.at(-1)!.text;

describe.each(['chat', 'responses', 'messages', 'gemini'])('with a provider of %s', (format) => {
  const model = `to-${format}`;
  let client: OpenAI;
  let apiKey: string;
  let baseURL: string;
  beforeAll(async () => {
    const { daemon } = gateway();
    apiKey = await newKey(daemon, `sdk-${format}`, { credits: '100000' });
    baseURL = `${daemon.url}/v1`;
    client = new OpenAI({ apiKey, baseURL, maxRetries: 0 });
  });

  it("the AI SDK's default model calls a tool and goes on by references", async () => {
    const { upstream } = gateway();
    const openai = createOpenAI({ apiKey, baseURL });
    upstream.play(
      script({ ...call, id: `${call.id}${format}` }),
      script({ text: 'Noon in Rome.' }),
    );
    const time = aiTool({ inputSchema: jsonSchema(parameters), execute: async () => '12:00' });
    const prompt: ModelMessage[] = [{ role: 'user', content: 'Time in Rome?' }];
    const first = await generateText({
      ...{ model: openai(model), tools: { time }, messages: prompt, maxRetries: 0 },
      stopWhen: stepCountIs(2),
    });
    expect(first.text).toBe('Noon in Rome.');
    upstream.play(script({ text: 'Yes.' }));
    const messages = [...prompt, ...first.response.messages, { role: 'user', content: 'Sure?' }];
    const second = await generateText({
      ...{ model: openai(model), messages: messages as ModelMessage[], tools: { time } },
      maxRetries: 0,
    });
    expect(second.text).toBe('Yes.');
    expect(JSON.stringify(second.request.body)).toContain('item_reference');
    for (const part of ['Time in Rome?', '12:00', 'Noon in Rome.', 'Sure?']) {
      expect(sent()).toContain(part);
    }
  });

  it.each(['previousResponseId', 'conversation'])('the Agents SDK goes on by %s', async (by) => {
    const { upstream } = gateway();
    const modelProvider = new OpenAIProvider({ openAIClient: client as never, useResponses: true });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const time = tool({
      ...{ name: 'time', description: 'The time', parameters, strict: true as const },
      execute: async () => '12:00',
    });
    const agent = new Agent({ name: 'clock', instructions: 'Be brief.', model, tools: [time] });
    const session =
      by === 'conversation'
        ? { session: new OpenAIConversationsSession({ client: client as never }) }
        : {};
    upstream.play(script({ ...call, id: `${by}${format}` }), script({ text: 'Noon in Rome.' }));
    const first = await runner.run(agent, 'Time in Rome?', session);
    expect(first.finalOutput).toBe('Noon in Rome.');
    upstream.play(script({ text: 'Yes.' }));
    const previousResponseId = first.lastResponseId!;
    const goesOn = by === 'conversation' ? session : { previousResponseId };
    const second = await runner.run(agent, 'Sure?', goesOn);
    expect(second.finalOutput).toBe('Yes.');
    for (const part of ['Time in Rome?', '12:00', 'Noon in Rome.', 'Sure?']) {
      expect(sent()).toContain(part);
    }
  });
});
