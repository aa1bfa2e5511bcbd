import type { ServerEvent } from '../../../api/events.ts';
import type { Model } from '../../../api/resource.ts';
import { AnswerReader, type TokenUsage } from './answer.ts';
import type { Turn } from './conversation.ts';
import {
  type Conversation,
  type Format,
  partsOf,
  sentAnswer,
  settingsOf,
  toolsOf,
} from './format.ts';
import { countOf, type Json, jsonOf, objectOf, stringOf, typedJsonOf } from './json.ts';

const STOPS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  max_tokens: 'length',
  tool_use: 'calls',
};

/** Tokens of an answer where the user sets no limit, which the format requires. */
const DEFAULT_MAX_TOKENS = 16_384;

/** Members of blocks that come in pieces, by the type of the piece. */
const PIECES: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  input_json_delta: 'partial_json',
};

class MessagesReader extends AnswerReader {
  readonly #blocks = new Map<string, Record<string, unknown>>();
  #usage: Json = {};

  read(event: ServerEvent): void {
    const [type, body] = typedJsonOf(event);
    const key = String(body['index']);
    if (type === 'message_start') this.#count(objectOf(body['message']));
    else if (type === 'content_block_start') this.#start(key, objectOf(body['content_block']));
    else if (type === 'content_block_delta') this.#extend(key, objectOf(body['delta']));
    else if (type === 'message_stop') this.set({ isComplete: true });
    else if (type === 'error') this.fail(body['error']);
    else if (type === 'message_delta') {
      this.#count(body);
      const reason = stringOf(objectOf(body['delta'])['stop_reason']);
      if (reason !== '') this.set({ stop: STOPS[reason] ?? reason });
    }
  }

  /** Counts of later events replace those of earlier ones. */
  #count({ usage }: Json): void {
    const counts = Object.entries(objectOf(usage)).filter(([, value]) => value !== null);
    this.#usage = { ...this.#usage, ...Object.fromEntries(counts) };
    this.set({ usage: usageOf(this.#usage) });
  }

  #start(key: string, block: Json): void {
    this.#blocks.set(key, { ...block });
    const type = stringOf(block['type']);
    if (type === 'tool_use') this.addCall(key, block['id'], block['name']);
    else if (type === 'text') this.addText('text', block['text']);
    else if (type === 'thinking') this.addText('reasoning', block['thinking']);
    else if (type !== 'redacted_thinking') this.addOther(stringOf(block['name']) || type);
  }

  #extend(key: string, delta: Json): void {
    const member = PIECES[stringOf(delta['type'])];
    if (member === undefined) return;
    const piece = stringOf(delta[member]);
    const block = this.#blocks.get(key);
    if (block) block[member] = stringOf(block[member]) + piece;
    if (member === 'text') this.addText('text', piece);
    if (member === 'thinking') this.addText('reasoning', piece);
    if (member === 'partial_json') this.addArguments(key, piece);
  }

  replay(): readonly Json[] {
    const blocks = [...this.#blocks.values()].map(({ partial_json: json, ...block }) => ({
      ...block,
      ...(json ? { input: jsonOf(stringOf(json)) } : {}),
    }));
    // Requests with empty texts are refused.
    return blocks.filter(({ type, text }: Json) => type !== 'text' || text !== '');
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
  Reader: MessagesReader,
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
