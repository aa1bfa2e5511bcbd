import OpenAI from 'openai';
import type { Access, Answer, Content, Mode, Settings, Talk } from './conversation.ts';
import { eventsIn, talkWith } from './history.ts';

// biome-ignore lint/suspicious/noExplicitAny: fields that the client's types do not have
type Loose = any;

function contentOf(content: string | readonly Content[]): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) =>
    'text' in part
      ? { type: 'text', text: part.text }
      : { type: 'image_url', image_url: { url: part.image } },
  );
}

function parametersOf(settings: Settings, messages: readonly unknown[]): Loose {
  const { model, tools, toolChoice, maxTokens, temperature, effort, schema, more } = settings;
  const { system } = settings;
  return {
    model,
    messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...messages],
    ...(tools && { tools: tools.map((tool) => ({ type: 'function', function: { ...tool } })) }),
    ...(toolChoice !== undefined && {
      tool_choice:
        typeof toolChoice === 'string'
          ? toolChoice
          : { type: 'function', function: { name: toolChoice.name } },
    }),
    ...(maxTokens !== undefined && { max_completion_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(effort !== undefined && { reasoning_effort: effort }),
    ...(schema && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema, strict: true },
      },
    }),
    ...more,
  };
}

export function chatTalk({ url, key }: Access, settings: Settings): Talk {
  const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
  return talkWith(
    {
      user: (content) => ({ role: 'user', content: contentOf(content) }),
      results: (given) =>
        given.map(({ id, content }) => ({
          role: 'tool',
          tool_call_id: id,
          content: contentOf(content),
        })),
      ask: (history, mode, all) => ask(client, parametersOf(all, history), mode),
      answered: ({ raw }) => [raw.choices[0].message],
    },
    settings,
  );
}

async function ask(client: OpenAI, parameters: Loose, mode: Mode): Promise<Answer> {
  if (mode === 'whole') {
    return read(await client.chat.completions.create({ ...parameters, stream: false }), []);
  }
  const streamed = { stream_options: { include_usage: true }, ...parameters, stream: true };
  if (mode === 'events') {
    const events = await eventsIn(client.chat.completions.create(streamed));
    return read(accumulate(events), events);
  }
  const stream = client.chat.completions.stream(streamed);
  const events = await eventsIn(stream);
  const final = (await stream.finalChatCompletion()) as Loose;
  // The client's accumulator keeps the last delta of fields that it does not know, such as reasoning.
  accumulate(events).choices.forEach(({ message }: Loose, index: number) => {
    for (const field of ['reasoning_content', 'reasoning_details']) {
      if (message[field] !== undefined) final.choices[index].message[field] = message[field];
    }
  });
  return read(final, events);
}

/** Folds chunks as a client without an accumulator does. */
function accumulate(events: readonly Loose[]): Loose {
  const whole: Loose = { choices: [] };
  for (const { choices, usage, ...head } of events) {
    Object.assign(whole, head);
    if (usage) whole.usage = usage;
    for (const { index, delta, finish_reason, logprobs } of choices) {
      whole.choices[index] ??= { index, message: {}, finish_reason: null };
      const choice = whole.choices[index];
      const { tool_calls = [], reasoning_details = [], ...fields } = delta;
      for (const [field, value] of Object.entries(fields)) {
        if (typeof value === 'string' && field !== 'role') {
          choice.message[field] = (choice.message[field] ?? '') + value;
        } else if (value !== null) {
          choice.message[field] = value;
        }
      }
      for (const detail of reasoning_details) merge(choice.message, 'reasoning_details', detail);
      for (const { index: at, id, type, function: called } of tool_calls) {
        choice.message.tool_calls ??= [];
        choice.message.tool_calls[at] ??= { function: { name: '', arguments: '' } };
        const call = choice.message.tool_calls[at];
        if (id !== undefined) Object.assign(call, { id, type });
        call.function.name += called?.name ?? '';
        call.function.arguments += called?.arguments ?? '';
      }
      if (finish_reason) choice.finish_reason = finish_reason;
      if (logprobs?.content) {
        choice.logprobs = { content: [...(choice.logprobs?.content ?? []), ...logprobs.content] };
      }
    }
  }
  for (const { message } of whole.choices) message.content ??= null;
  return whole;
}

/** Merges details of one index: joins their texts and keeps the rest. */
function merge(message: Loose, field: string, detail: Loose): void {
  message[field] ??= [];
  const found = message[field].find(({ index }: Loose) => index === detail.index);
  if (!found) {
    message[field].push({ ...detail });
    return;
  }
  const { text, ...rest } = detail;
  Object.assign(found, rest);
  if (typeof text === 'string') found.text = (found.text ?? '') + text;
}

function read(raw: Loose, events: readonly Loose[]): Answer {
  const [{ message, finish_reason }] = raw.choices;
  return {
    text: message.content ?? '',
    reasoning: message.reasoning_content ?? '',
    refusal: message.refusal ?? null,
    calls: (message.tool_calls ?? []).map(({ id, function: called }: Loose) => ({
      id,
      name: called.name,
      arguments: JSON.parse(called.arguments),
    })),
    stop: finish_reason,
    usage: raw.usage,
    model: raw.model,
    raw,
    events,
  };
}
