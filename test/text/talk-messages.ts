import Anthropic from '@anthropic-ai/sdk';
import type { Access, Answer, Content, Mode, Settings, Talk } from './conversation.ts';
import { eventsIn, talkWith } from './history.ts';

// biome-ignore lint/suspicious/noExplicitAny: fields that the client's types do not have
type Loose = any;

function imageOf(url: string): object {
  const data = /^data:([^;]+);base64,(.*)$/.exec(url);
  return data ? { type: 'base64', media_type: data[1], data: data[2] } : { type: 'url', url };
}

function contentOf(content: string | readonly Content[]): unknown {
  if (typeof content === 'string') return content;
  return content.map((part) =>
    'text' in part
      ? { type: 'text', text: part.text }
      : { type: 'image', source: imageOf(part.image) },
  );
}

const CHOICES = { auto: 'auto', none: 'none', required: 'any' } as const;

function parametersOf(settings: Settings, messages: readonly unknown[]): Loose {
  const { model, system, tools, toolChoice, maxTokens, temperature, effort, schema, more } =
    settings;
  const configuration = {
    ...(schema && { format: { type: 'json_schema', schema } }),
    ...(effort !== undefined && { effort }),
  };
  return {
    model,
    max_tokens: maxTokens ?? 16_000,
    messages: [...messages],
    ...(system !== undefined && { system }),
    ...(tools && {
      tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    }),
    ...(toolChoice !== undefined && {
      tool_choice:
        typeof toolChoice === 'string'
          ? { type: CHOICES[toolChoice] }
          : { type: 'tool', name: toolChoice.name },
    }),
    ...(temperature !== undefined && { temperature }),
    ...(Object.keys(configuration).length > 0 && { output_config: configuration }),
    ...more,
  };
}

export function messagesTalk({ url, key }: Access, settings: Settings): Talk {
  const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
  return talkWith(
    {
      user: (content) => ({ role: 'user', content: contentOf(content) }),
      results: (given) => [
        {
          role: 'user',
          content: given.map(({ id, content }) => ({
            type: 'tool_result',
            tool_use_id: id,
            content: contentOf(content),
          })),
        },
      ],
      ask: (history, mode, all) => ask(client, parametersOf(all, history), mode),
      answered: ({ raw }) => [{ role: 'assistant', content: raw.content }],
    },
    settings,
  );
}

async function ask(client: Anthropic, parameters: Loose, mode: Mode): Promise<Answer> {
  if (mode === 'whole') {
    return read(await client.messages.create({ ...parameters, stream: false }), []);
  }
  if (mode === 'events') {
    const events = await eventsIn(client.messages.create({ ...parameters, stream: true }));
    return read(accumulate(events), events);
  }
  const stream = client.messages.stream(parameters);
  const events = await eventsIn(stream);
  return read(await stream.finalMessage(), events);
}

/** Folds events as a strict client without an accumulator does. */
function accumulate(events: readonly Loose[]): Loose {
  let message: Loose;
  let json = '';
  let open: number | null = null;
  for (const event of events) {
    switch (event.type) {
      case 'message_start':
        message = structuredClone(event.message);
        break;
      case 'content_block_start':
        if (open !== null || event.index !== message.content.length) {
          throw new Error(`block ${event.index} starts while ${open} is open`);
        }
        open = event.index;
        json = '';
        message.content.push(structuredClone(event.content_block));
        break;
      case 'content_block_delta': {
        if (event.index !== open) throw new Error(`a delta of ${event.index}, not of ${open}`);
        const block = message.content.at(-1);
        const { type, ...delta } = event.delta;
        if (type === 'input_json_delta') json += delta.partial_json;
        else if (type === 'citations_delta') {
          block.citations = [...(block.citations ?? []), delta.citation];
        } else if (type === 'signature_delta') block.signature = delta.signature;
        else for (const [field, piece] of Object.entries(delta)) block[field] += piece;
        break;
      }
      case 'content_block_stop':
        if (event.index !== open) throw new Error(`${event.index} stops, ${open} is open`);
        if (json !== '') message.content.at(-1).input = JSON.parse(json);
        open = null;
        break;
      case 'message_delta':
        Object.assign(message, event.delta);
        Object.assign(message.usage, event.usage);
        break;
    }
  }
  if (events.at(-1)?.type !== 'message_stop') throw new Error('no message_stop');
  return message;
}

function read(raw: Loose, events: readonly Loose[]): Answer {
  const of = (type: string): Loose[] => raw.content.filter((block: Loose) => block.type === type);
  const refused = raw.stop_reason === 'refusal';
  return {
    text: of('text')
      .map(({ text }) => text)
      .join(''),
    reasoning: of('thinking')
      .map(({ thinking }) => thinking)
      .join(''),
    refusal: refused ? (raw.stop_details?.explanation ?? '') : null,
    calls: of('tool_use').map(({ id, name, input }) => ({ id, name, arguments: input })),
    stop: raw.stop_reason,
    usage: raw.usage,
    model: raw.model,
    raw,
    events,
  };
}
