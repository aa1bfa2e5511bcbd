import {
  type Answer,
  type AnswerDecoder,
  type AnswerEvent,
  callsOf,
  type Json,
  type ToolCall,
  textOf,
} from './answer.ts';
import type { Turn } from './conversation.ts';
import {
  type Conversation,
  contentOf,
  type Format,
  sentAnswer,
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
  /** Calls that have begun, by their index in the stream. */
  readonly #calls = new Set<string>();
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
    for (const detail of listOf(delta['reasoning_details'])) this.#addDetail(detail);
    events.push(
      { type: 'reasoning', text: stringOf(delta['reasoning_content'] ?? delta['reasoning']) },
      { type: 'text', text: stringOf(delta['content']) },
      { type: 'refusal', text: stringOf(delta['refusal']) },
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
    if (!this.#calls.has(key)) {
      this.#calls.add(key);
      events.push({ type: 'call', key, id: stringOf(piece['id']), name: stringOf(called['name']) });
    }
    events.push({
      type: 'arguments',
      key,
      text: stringOf(called['arguments'] ?? called['input']),
    });
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

  replay(answer: Answer): readonly Json[] {
    const refusal = textOf(answer, 'refusal');
    const reasoning = textOf(answer, 'reasoning');
    const message = {
      ...messageOf(textOf(answer), callsOf(answer)),
      ...(refusal !== '' && { refusal }),
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(this.#details.size > 0 && { reasoning_details: [...this.#details.values()] }),
    };
    return [message];
  }
}

/** A message of the model. */
function messageOf(text: string, calls: readonly ToolCall[]): Json {
  const toolCalls = calls.map(({ id, name, arguments: json }) => ({
    id,
    type: 'function',
    function: { name, arguments: json || '{}' },
  }));
  return {
    role: 'assistant',
    content: text || null,
    ...(calls.length > 0 && { tool_calls: toolCalls }),
  };
}

function imageOf(url: string): Json {
  return { type: 'image_url', image_url: { url } };
}

function messagesOf(turn: Turn): readonly Json[] {
  if (turn.type === 'user') return [{ role: 'user', content: contentOf(turn, imageOf, 'text') }];
  const { text, calls, replay } = sentAnswer(turn, 'chat');
  if (!replay && text === '' && calls.length === 0) return [];
  const results = calls.map(({ id, result }) => ({
    role: 'tool',
    tool_call_id: id,
    content: result,
  }));
  return [...(replay ?? [messageOf(text, calls)]), ...results];
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
