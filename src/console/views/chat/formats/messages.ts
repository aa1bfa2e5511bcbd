import type { ServerEvent } from '../../../api/events.ts';
import type { Model } from '../../../api/resource.ts';
import type { AnswerDecoder, AnswerEvent, Json, TokenUsage } from './answer.ts';
import type { Turn } from './conversation.ts';
import {
  type Conversation,
  type Format,
  partsOf,
  sentAnswer,
  settingsOf,
  toolsOf,
} from './format.ts';
import { countOf, errorOf, jsonOf, objectOf, stringOf, typedJsonOf } from './json.ts';

const STOPS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'calls',
};

/** Tokens of an answer where the user sets no limit, which the format requires. */
const DEFAULT_MAX_TOKENS = 16_384;

/** Types of blocks that are shown by their own events. */
const SHOWN = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']);

class MessagesDecoder implements AnswerDecoder {
  readonly #blocks = new Map<string, Record<string, unknown>>();
  /** Pieces of the JSON of calls. */
  readonly #json = new Map<string, string>();
  #usage: Json = {};

  decode(event: ServerEvent): readonly AnswerEvent[] {
    const [type, body] = typedJsonOf(event);
    const key = String(body['index']);
    switch (type) {
      case 'message_start':
        return this.#count(objectOf(objectOf(body['message'])['usage']));
      case 'content_block_start':
        return this.#start(key, objectOf(body['content_block']));
      case 'content_block_delta':
        return this.#add(key, objectOf(body['delta']));
      case 'content_block_stop':
        this.#finish(key);
        return [];
      case 'message_delta': {
        const reason = stringOf(objectOf(body['delta'])['stop_reason']);
        const counted = this.#count(objectOf(body['usage']));
        if (reason === '') return counted;
        return [...counted, { type: 'stop', reason: STOPS[reason] ?? reason }];
      }
      case 'message_stop':
        return [{ type: 'end' }];
      case 'error':
        return [{ type: 'error', error: errorOf(body['error']) }];
      default:
        return [];
    }
  }

  /** Counts of later events replace those of earlier ones. */
  #count(usage: Json): readonly AnswerEvent[] {
    const counts = Object.entries(usage).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(counts) };
    return [{ type: 'usage', usage: usageOf(this.#usage) }];
  }

  #start(key: string, block: Json): readonly AnswerEvent[] {
    this.#blocks.set(key, { ...block });
    const type = stringOf(block['type']);
    if (!SHOWN.has(type)) return [{ type: 'other', name: stringOf(block['name']) || type }];
    if (type === 'text') return [{ type: 'text', text: stringOf(block['text']) }];
    if (type === 'thinking') return [{ type: 'reasoning', text: stringOf(block['thinking']) }];
    if (type !== 'tool_use') return [];
    return [{ type: 'call', key, id: stringOf(block['id']), name: stringOf(block['name']) }];
  }

  #add(key: string, delta: Json): readonly AnswerEvent[] {
    switch (delta['type']) {
      case 'text_delta':
        this.#extend(key, 'text', delta['text']);
        return [{ type: 'text', text: stringOf(delta['text']) }];
      case 'thinking_delta':
        this.#extend(key, 'thinking', delta['thinking']);
        return [{ type: 'reasoning', text: stringOf(delta['thinking']) }];
      case 'signature_delta':
        this.#extend(key, 'signature', delta['signature']);
        return [];
      case 'input_json_delta': {
        const text = stringOf(delta['partial_json']);
        this.#json.set(key, (this.#json.get(key) ?? '') + text);
        return [{ type: 'arguments', key, text }];
      }
      default:
        return [];
    }
  }

  #extend(key: string, name: string, text: unknown): void {
    const block = this.#blocks.get(key);
    if (block) block[name] = stringOf(block[name]) + stringOf(text);
  }

  #finish(key: string): void {
    const block = this.#blocks.get(key);
    const json = this.#json.get(key);
    if (block && json) block['input'] = jsonOf(json);
  }

  replay(): readonly Json[] {
    // Requests with empty texts are refused.
    return [...this.#blocks.values()].filter(({ type, text }) => type !== 'text' || text !== '');
  }
}

function usageOf(usage: Json): TokenUsage {
  const cached = countOf(usage['cache_read_input_tokens']);
  const cacheWritten = countOf(usage['cache_creation_input_tokens']);
  return {
    // Input is counted without caches here.
    input: countOf(usage['input_tokens']) + cached + cacheWritten,
    cached,
    cacheWritten,
    output: countOf(usage['output_tokens']),
    reasoning: countOf(objectOf(usage['output_tokens_details'])['thinking_tokens']),
  };
}

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: readonly Json[];
}

function imageOf(url: string): Json {
  const [, type, data] = /^data:([^;,]*);base64,(.*)$/s.exec(url) ?? [];
  return { type: 'image', source: { type: 'base64', media_type: type, data } };
}

function messagesOf(turn: Turn): readonly Message[] {
  if (turn.type === 'user') return [{ role: 'user', content: partsOf(turn, imageOf, 'text') }];
  const { text, calls, replay } = sentAnswer(turn, 'messages');
  const own: readonly Json[] = replay ?? [
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map(({ id, name, arguments: json }) => ({
      type: 'tool_use',
      id,
      name,
      input: jsonOf(json),
    })),
  ];
  const results = calls.map(({ id, result }) => ({
    type: 'tool_result',
    tool_use_id: id,
    content: result,
  }));
  return [
    { role: 'assistant', content: own },
    { role: 'user', content: results },
  ];
}

/** Messages with content, and those that follow one of the same role as part of it, since turns alternate. */
function alternating(messages: readonly Message[]): readonly Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    if (message.content.length === 0) continue;
    const last = merged.at(-1);
    if (last?.role === message.role) {
      merged[merged.length - 1] = { ...last, content: [...last.content, ...message.content] };
    } else merged.push(message);
  }
  return merged;
}

export const messages: Format = {
  label: 'Messages',
  path: 'v1/messages',
  efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
  highestTemperature: 1,
  decoder: () => new MessagesDecoder(),
  bodyOf({ settings, turns }: Conversation, { limits }: Model): Json {
    const { model, system, temperature, maxTokens, effort } = settingsOf(settings);
    const most = limits['max_output_tokens'] ?? DEFAULT_MAX_TOKENS;
    return {
      model,
      max_tokens: maxTokens ?? Math.min(most, DEFAULT_MAX_TOKENS),
      ...(system !== '' && { system }),
      messages: alternating(turns.flatMap(messagesOf)),
      ...(temperature !== null && { temperature }),
      ...(effort === 'none' && { thinking: { type: 'disabled' } }),
      ...(effort !== null &&
        effort !== 'none' && { thinking: { type: 'adaptive' }, output_config: { effort } }),
      ...toolsOf(settings, (tool, schema) => ({ ...tool, input_schema: schema })),
      stream: true,
    };
  },
};
