import OpenAI from 'openai';
import type { Access, Answer, Content, Mode, Settings, Talk } from './conversation.ts';
import { eventsIn, talkWith } from './history.ts';

// biome-ignore lint/suspicious/noExplicitAny: fields that the client's types do not have
type Loose = any;

function contentOf(content: string | readonly Content[]): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) =>
    'text' in part
      ? { type: 'input_text', text: part.text }
      : { type: 'input_image', image_url: part.image, detail: 'auto' },
  );
}

function parametersOf(settings: Settings, input: readonly unknown[]): Loose {
  const { model, system, tools, toolChoice, maxTokens, temperature, effort, schema, more } =
    settings;
  return {
    model,
    input: [...input],
    ...(system !== undefined && { instructions: system }),
    ...(tools && { tools: tools.map((tool) => ({ type: 'function', ...tool, strict: null })) }),
    ...(toolChoice !== undefined && {
      tool_choice:
        typeof toolChoice === 'string' ? toolChoice : { type: 'function', name: toolChoice.name },
    }),
    ...(maxTokens !== undefined && { max_output_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(effort !== undefined && { reasoning: { effort, summary: 'auto' } }),
    ...(schema && {
      text: { format: { type: 'json_schema', name: 'answer', schema, strict: true } },
    }),
    ...more,
  };
}

export function responsesTalk({ url, key }: Access, settings: Settings): Talk {
  const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
  return talkWith(
    {
      user: (content) => ({ role: 'user', content: contentOf(content) }),
      results: (given) =>
        given.map(({ id, content }) => ({
          type: 'function_call_output',
          call_id: id,
          output: contentOf(content),
        })),
      ask: (history, mode, all) => ask(client, parametersOf(all, history), mode),
      answered: ({ raw }) => raw.output,
    },
    settings,
  );
}

async function ask(client: OpenAI, parameters: Loose, mode: Mode): Promise<Answer> {
  if (mode === 'whole') {
    return read(await client.responses.create({ ...parameters, stream: false }), []);
  }
  if (mode === 'events') {
    const events = await eventsIn(client.responses.create({ ...parameters, stream: true }));
    const last = events.at(-1);
    if (last?.response === undefined) {
      throw new Error(`the stream ended with ${JSON.stringify(last)}`);
    }
    return read(last.response, events);
  }
  const stream = client.responses.stream({ ...parameters, stream: true });
  const events = await eventsIn(stream);
  return read(await stream.finalResponse(), events);
}

function read(raw: Loose, events: readonly Loose[]): Answer {
  if (raw.status === 'failed') throw new Error(raw.error?.message);
  const of = (type: string): Loose[] => raw.output.filter((item: Loose) => item.type === type);
  const parts = of('message').flatMap(({ content }) => content);
  const refusals = parts.filter(({ type }) => type === 'refusal');
  return {
    text: parts.map((part) => (part.type === 'output_text' ? part.text : '')).join(''),
    reasoning: of('reasoning')
      .flatMap(({ summary }) => summary)
      .map(({ text }) => text)
      .join(''),
    refusal: refusals.length > 0 ? refusals.map(({ refusal }) => refusal).join('') : null,
    calls: of('function_call').map((call) => ({
      id: call.call_id,
      name: call.name,
      arguments: JSON.parse(call.arguments),
    })),
    stop: raw.status === 'incomplete' ? `incomplete: ${raw.incomplete_details.reason}` : raw.status,
    usage: raw.usage,
    model: raw.model,
    raw,
    events,
  };
}
