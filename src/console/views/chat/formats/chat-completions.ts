import type { ServerEvent } from '../../../api/events.ts';
import { AnswerReader, callsOf, openAiUsage, type ToolCall, textOf } from './answer.ts';
import type { Turn } from './conversation.ts';
import {
  type Conversation,
  contentOf,
  type Format,
  sentAnswer,
  settingsOf,
  toolsOf,
} from './format.ts';
import { type Json, jsonOf, listOf, objectOf, stringOf } from './json.ts';

const STOPS: Readonly<Record<string, string>> = {
  tool_calls: 'calls',
  function_call: 'calls',
  content_filter: 'refusal',
};

/** Texts of `reasoning_details` that come in pieces. */
const JOINED = new Set(['text', 'summary', 'data', 'signature', 'encrypted_content']);

class ChatReader extends AnswerReader {
  readonly #details = new Map<string, Record<string, unknown>>();

  read({ data }: ServerEvent): void {
    if (data === '[DONE]') {
      if (this.answer.stop !== null) this.set({ isComplete: true });
      return;
    }
    const chunk = jsonOf(data);
    if (chunk['error'] != null) {
      this.fail(chunk['error']);
      return;
    }
    const [choice] = listOf(chunk['choices']);
    if (choice) this.#readChoice(choice);
    if (chunk['usage'] != null) {
      this.set({ usage: openAiUsage(chunk['usage'], 'prompt', 'completion') });
    }
  }

  #readChoice(choice: Json): void {
    const delta = objectOf(choice['delta']);
    for (const detail of listOf(delta['reasoning_details'])) this.#addDetail(detail);
    this.addText('reasoning', delta['reasoning_content'] ?? delta['reasoning']);
    this.addText('text', delta['content']);
    this.addText('refusal', delta['refusal']);
    for (const call of listOf(delta['tool_calls'])) this.#readCall(call);
    const reason = stringOf(choice['finish_reason']);
    if (reason !== '') this.set({ stop: STOPS[reason] ?? reason });
  }

  #readCall(piece: Json): void {
    const key = String(piece['index'] ?? callsOf(this.answer).length);
    const called = objectOf(piece['function'] ?? piece['custom']);
    if (!this.hasCall(key)) this.addCall(key, piece['id'], called['name']);
    this.addArguments(key, called['arguments'] ?? called['input']);
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

  replay(): readonly Json[] {
    const refusal = textOf(this.answer, 'refusal');
    const reasoning = textOf(this.answer, 'reasoning');
    const message = {
      ...messageOf(textOf(this.answer), callsOf(this.answer)),
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

const imageOf = (url: string): Json => ({ type: 'image_url', image_url: { url } });

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
  Reader: ChatReader,
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
