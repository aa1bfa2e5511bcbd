import { type AnswerDecoder, type AnswerEvent, type Json, textOf } from './answer.ts';
import type { Turn } from './conversation.ts';
import {
  type Conversation,
  contentOf,
  type Format,
  resultOf,
  sentCalls,
  settingsOf,
  toolsOf,
} from './format.ts';
import { errorOf, jsonOf, listOf, objectOf, openAiUsage, stringOf } from './json.ts';

const STOPS: Readonly<Record<string, string>> = {
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'refusal',
};

/** Texts of `reasoning_details` that come in pieces. */
const JOINED = new Set(['text', 'summary', 'data', 'signature', 'encrypted_content']);

class ChatDecoder implements AnswerDecoder {
  #text = '';
  #reasoning = '';
  #refusal = '';
  /** By their index in the stream. */
  readonly #calls = new Map<string, { id: string; name: string; arguments: string }>();
  readonly #details = new Map<string, Record<string, unknown>>();
  #hasStopped = false;

  decode({ data }: { readonly data: string }): readonly AnswerEvent[] {
    if (data === '[DONE]') return this.#hasStopped ? [{ type: 'end' }] : [];
    const chunk = jsonOf(data);
    if (chunk['error'] != null) return [{ type: 'error', error: errorOf(chunk['error']) }];
    const events: AnswerEvent[] = [];
    const [choice] = listOf(chunk['choices']);
    if (choice) this.#addChoice(choice, events);
    if (chunk['usage'] != null) {
      events.push({ type: 'usage', usage: openAiUsage(chunk['usage'], 'prompt', 'completion') });
    }
    return events;
  }

  #addChoice(choice: Json, events: AnswerEvent[]): void {
    const delta = objectOf(choice['delta']);
    const reasoning = stringOf(delta['reasoning_content'] ?? delta['reasoning']);
    const text = stringOf(delta['content']);
    const refusal = stringOf(delta['refusal']);
    this.#reasoning += reasoning;
    this.#text += text;
    this.#refusal += refusal;
    for (const detail of listOf(delta['reasoning_details'])) this.#addDetail(detail);
    events.push(
      { type: 'reasoning', text: reasoning },
      { type: 'text', text },
      { type: 'refusal', text: refusal },
    );
    for (const call of listOf(delta['tool_calls'])) this.#addCall(call, events);
    const reason = stringOf(choice['finish_reason']);
    if (reason === '') return;
    this.#hasStopped = true;
    events.push({ type: 'stop', reason: STOPS[reason] ?? reason });
  }

  #addCall(piece: Json, events: AnswerEvent[]): void {
    const key = String(piece['index'] ?? this.#calls.size);
    const called = objectOf(piece['function'] ?? piece['custom']);
    const text = stringOf(called['arguments'] ?? called['input']);
    let call = this.#calls.get(key);
    if (!call) {
      call = { id: stringOf(piece['id']), name: stringOf(called['name']), arguments: '' };
      this.#calls.set(key, call);
      events.push({ type: 'call', key, id: call.id, name: call.name });
    }
    call.arguments += text;
    events.push({ type: 'arguments', key, text });
  }

  #addDetail(detail: Json): void {
    const key = JSON.stringify([detail['type'], detail['index'], detail['id']]);
    const known = this.#details.get(key);
    if (!known) {
      this.#details.set(key, { ...detail });
      return;
    }
    for (const [name, value] of Object.entries(detail)) {
      if (value === null) continue;
      known[name] = JOINED.has(name) ? stringOf(known[name]) + stringOf(value) : value;
    }
  }

  replay(): readonly Json[] | null {
    if (!this.#hasStopped) return null;
    const calls = [...this.#calls.values()];
    return [
      {
        role: 'assistant',
        content: this.#text || null,
        ...(this.#refusal !== '' && { refusal: this.#refusal }),
        ...(this.#reasoning !== '' && { reasoning_content: this.#reasoning }),
        ...(this.#details.size > 0 && { reasoning_details: [...this.#details.values()] }),
        ...(calls.length > 0 && { tool_calls: calls.map(toolCallOf) }),
      },
    ];
  }
}

function toolCallOf({ id, ...called }: { id: string; name: string; arguments: string }): Json {
  return { id, type: 'function', function: { ...called, arguments: called.arguments || '{}' } };
}

function imageOf(url: string): Json {
  return { type: 'image_url', image_url: { url } };
}

function messagesOf(turn: Turn): readonly Json[] {
  if (turn.type === 'user') return [{ role: 'user', content: contentOf(turn, imageOf, 'text') }];
  const { answer, format, replay } = turn;
  const calls = sentCalls(turn);
  const text = textOf(answer);
  const results = calls.map(({ id }, index) => ({
    role: 'tool',
    tool_call_id: id,
    content: resultOf(turn, index),
  }));
  if (format === 'chat' && replay) return [...replay, ...results];
  if (text === '' && calls.length === 0) return [];
  const own = {
    role: 'assistant',
    content: text || null,
    ...(calls.length > 0 && { tool_calls: calls.map(({ type: _, ...call }) => toolCallOf(call)) }),
  };
  return [own, ...results];
}

export const chatCompletions: Format = {
  label: 'Chat completions',
  path: 'v1/chat/completions',
  efforts: null,
  highestTemperature: 2,
  decoder: () => new ChatDecoder(),
  bodyOf({ settings, turns }: Conversation): Json {
    const { model, system, temperature, maxTokens, effort } = settingsOf(settings);
    return {
      model,
      messages: [
        ...(system === '' ? [] : [{ role: 'system', content: system }]),
        ...turns.flatMap(messagesOf),
      ],
      ...(temperature !== null && { temperature }),
      ...(maxTokens !== null && { max_completion_tokens: maxTokens }),
      ...(effort !== null && { reasoning_effort: effort }),
      ...toolsOf(settings, (tool, parameters) => ({
        type: 'function',
        function: { ...tool, parameters },
      })),
      stream: true,
      stream_options: { include_usage: true },
    };
  },
};
