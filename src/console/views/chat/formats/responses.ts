import type { ServerEvent } from '../../../api/events.ts';
import type { Model } from '../../../api/resource.ts';
import type { AnswerDecoder, AnswerEvent, Json } from './answer.ts';
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
import { countOf, errorOf, objectOf, openAiUsage, stringOf, typedJsonOf } from './json.ts';

const STOPS: Readonly<Record<string, string>> = {
  max_output_tokens: 'length',
  content_filter: 'refusal',
};

/** Items that are shown by their own events. */
const SHOWN = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);

class ResponsesDecoder implements AnswerDecoder {
  /** Whole items, by their index. */
  readonly #items: Json[] = [];
  #hasCalls = false;
  #hasFailed = false;

  decode(event: ServerEvent): readonly AnswerEvent[] {
    const [type, body] = typedJsonOf(event);
    const key = String(body['output_index']);
    switch (type) {
      case 'response.output_text.delta':
        return [{ type: 'text', text: stringOf(body['delta']) }];
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        return [{ type: 'reasoning', text: stringOf(body['delta']) }];
      case 'response.reasoning_summary_part.added':
        return countOf(body['summary_index']) > 0 ? [{ type: 'reasoning', text: '\n\n' }] : [];
      case 'response.refusal.delta':
        return [{ type: 'refusal', text: stringOf(body['delta']) }];
      case 'response.output_item.added':
        return this.#start(key, objectOf(body['item']));
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        return [{ type: 'arguments', key, text: stringOf(body['delta']) }];
      case 'response.output_item.done':
        return this.#finish(key, objectOf(body['item']));
      case 'response.completed':
      case 'response.incomplete':
        return this.#end(objectOf(body['response']));
      case 'response.failed':
        return this.#fail(objectOf(body['response']));
      case 'error':
        this.#hasFailed = true;
        // Seen flat and nested.
        return [{ type: 'error', error: errorOf(body['error'] ?? body) }];
      default:
        return [];
    }
  }

  #start(key: string, item: Json): readonly AnswerEvent[] {
    const type = stringOf(item['type']);
    if (!SHOWN.has(type)) return [{ type: 'other', name: type }];
    if (!type.endsWith('call')) return [];
    this.#hasCalls = true;
    return [{ type: 'call', key, id: stringOf(item['call_id']), name: stringOf(item['name']) }];
  }

  #finish(key: string, item: Json): readonly AnswerEvent[] {
    this.#items.push(item);
    const text = item['arguments'] ?? item['input'];
    const isCall = stringOf(item['type']).endsWith('call') && typeof text === 'string';
    return isCall ? [{ type: 'all-arguments', key, text }] : [];
  }

  #end(response: Json): readonly AnswerEvent[] {
    const reason = stringOf(objectOf(response['incomplete_details'])['reason']);
    const stop = STOPS[reason] ?? (reason || (this.#hasCalls ? 'calls' : 'stop'));
    return [...usageEvents(response), { type: 'stop', reason: stop }, { type: 'end' }];
  }

  #fail(response: Json): readonly AnswerEvent[] {
    const usage = usageEvents(response);
    // The event `error` before it has more fields.
    return this.#hasFailed
      ? usage
      : [...usage, { type: 'error', error: errorOf(response['error']) }];
  }

  replay(): readonly Json[] {
    return this.#items;
  }
}

function usageEvents(response: Json): readonly AnswerEvent[] {
  if (response['usage'] == null) return [];
  return [{ type: 'usage', usage: openAiUsage(response['usage'], 'input', 'output') }];
}

function imageOf(url: string): Json {
  return { type: 'input_image', image_url: url };
}

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
  decoder: () => new ResponsesDecoder(),
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
