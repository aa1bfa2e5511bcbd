import type { ServerEvent } from '../../../api/events.ts';
import type { Model } from '../../../api/resource.ts';
import { AnswerReader, callsOf, openAiUsage } from './answer.ts';
import type { Turn } from './conversation.ts';
import {
  type Conversation,
  contentOf,
  effortsOf,
  type Format,
  sentAnswer,
  settingsOf,
  toolsOf,
} from './format.ts';
import { countOf, type Json, objectOf, stringOf, typedJsonOf } from './json.ts';

const STOPS: Readonly<Record<string, string>> = {
  max_output_tokens: 'length',
  content_filter: 'refusal',
};

/** Items that are shown by their own events. */
const SHOWN = new Set(['message', 'reasoning']);

/** Events with a piece of text, by the part to which it belongs. */
const TEXTS: Readonly<Record<string, 'text' | 'reasoning' | 'refusal'>> = {
  'response.output_text.delta': 'text',
  'response.reasoning_summary_text.delta': 'reasoning',
  'response.reasoning_text.delta': 'reasoning',
  'response.refusal.delta': 'refusal',
};
const ARGUMENTS = new Set([
  'response.function_call_arguments.delta',
  'response.custom_tool_call_input.delta',
]);
const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed']);

class ResponsesReader extends AnswerReader {
  /** Whole items, by their index. */
  readonly #items: Json[] = [];

  read(event: ServerEvent): void {
    const [type, body] = typedJsonOf(event);
    const key = String(body['output_index']);
    const text = TEXTS[type];
    if (text !== undefined) this.addText(text, body['delta']);
    else if (ARGUMENTS.has(type)) this.addArguments(key, body['delta']);
    else if (type === 'response.output_item.added') this.#start(key, objectOf(body['item']));
    else if (type === 'response.output_item.done') this.#finish(key, objectOf(body['item']));
    else if (ENDS.has(type)) this.#end(type, objectOf(body['response']));
    // Seen flat and nested.
    else if (type === 'error') this.fail(body['error'] ?? body);
    else if (type === 'response.reasoning_summary_part.added' && countOf(body['summary_index']) > 0)
      this.addText('reasoning', '\n\n');
  }

  #start(key: string, item: Json): void {
    const type = stringOf(item['type']);
    if (type === 'function_call' || type === 'custom_tool_call') {
      this.addCall(key, item['call_id'], item['name']);
    } else if (!SHOWN.has(type)) this.addOther(type);
  }

  #finish(key: string, item: Json): void {
    this.#items.push(item);
    const text = item['arguments'] ?? item['input'];
    if (typeof text === 'string') this.addArguments(key, text, true);
  }

  #end(type: string, response: Json): void {
    if (response['usage'] != null) {
      this.set({ usage: openAiUsage(response['usage'], 'input', 'output') });
    }
    if (type === 'response.failed') {
      // The event `error` before it has more fields.
      if (this.answer.error === null) this.fail(response['error']);
      return;
    }
    const reason = stringOf(objectOf(response['incomplete_details'])['reason']);
    const usual = callsOf(this.answer).length > 0 ? 'calls' : 'stop';
    this.set({ stop: STOPS[reason] ?? (reason || usual), isComplete: true });
  }

  replay(): readonly Json[] {
    return this.#items;
  }
}

const imageOf = (url: string): Json => ({ type: 'input_image', image_url: url });

function itemsOf(turn: Turn): readonly Json[] {
  if (turn.type === 'user') {
    return [{ role: 'user', content: contentOf(turn, imageOf, 'input_text') }];
  }
  const { text, calls, replay } = sentAnswer(turn, 'responses');
  const results = calls.map(({ id, result }) => ({
    type: 'function_call_output',
    call_id: id,
    output: result,
  }));
  if (replay) return [...replay, ...results];
  return [
    ...(text === '' ? [] : [{ role: 'assistant', content: text }]),
    ...calls.map(({ id, name, arguments: json }) => ({
      type: 'function_call',
      call_id: id,
      name,
      arguments: json || '{}',
    })),
    ...results,
  ];
}

export const responses: Format = {
  label: 'Responses',
  path: 'v1/responses',
  efforts: null,
  highestTemperature: 2,
  Reader: ResponsesReader,
  bodyOf({ settings, turns }: Conversation, model: Model): Json {
    const { system, temperature, maxTokens, effort } = settingsOf(settings);
    const reasons = effortsOf(model, responses).length > 0;
    return {
      model: settings.model,
      ...(system !== '' && { instructions: system }),
      input: turns.flatMap(itemsOf),
      ...(temperature !== null && { temperature }),
      ...(maxTokens !== null && { max_output_tokens: maxTokens }),
      // Models that do not reason refuse both.
      ...(reasons && {
        reasoning: { ...(effort !== null && { effort }), summary: 'auto' },
        include: ['reasoning.encrypted_content'],
      }),
      ...toolsOf(settings, (tool, parameters) => ({
        type: 'function',
        ...tool,
        parameters,
        strict: false,
      })),
      store: false,
      stream: true,
    };
  },
};
