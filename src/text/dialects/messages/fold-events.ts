import { tryParseJson } from '../../../schema/json.ts';
import { isObject } from '../../../schema/untrusted.ts';
import { newId } from '../../../store/identifier.ts';
import type { Json } from '../../canonical/canonical.ts';
import type { TextEvent, Usage } from '../../canonical/events.ts';
import { truncatedAnswer, untranslatableAnswer, untranslatableBlock } from '../answer-errors.ts';
import { callIdOnWire } from '../calls.ts';
import type { EncodeContext } from '../dialect.ts';
import { isBare } from '../reasoning-signature.ts';
import { citationObject, stopOf } from './answer.ts';
import { redactedOf, signatureField } from './reasoning.ts';
import { usageObject } from './usage.ts';

type Finish = Extract<TextEvent, { readonly type: 'finish' }>;

/** Folds events into a message, as the official client folds a stream. */
export function foldEvents(
  { request, estimatedUsage }: EncodeContext,
  choices: readonly (readonly TextEvent[])[],
): Json {
  const content: Json[] = [];
  const calls: { readonly index: number; readonly name: string; readonly json: string }[] = [];
  let model = request.model;
  let usage: Usage | null = null;
  let finish: Finish | null = null;
  let refusal = '';
  let text = '';
  let citations: Json[] = [];
  let call = { id: '', name: '' };
  for (const event of choices[0] ?? []) {
    switch (event.type) {
      case 'start':
        model = event.model ?? model;
        break;
      case 'usage':
        usage = event.usage;
        break;
      case 'text-start':
      case 'refusal-start':
      case 'reasoning-start':
        text = '';
        citations = [];
        break;
      case 'tool-start':
        text = '';
        call = event;
        break;
      case 'refusal-delta':
        refusal += event.text;
        text += event.text;
        break;
      case 'text-delta':
      case 'reasoning-delta':
        text += event.text;
        break;
      case 'tool-delta':
        text += event.json;
        break;
      case 'citation':
        citations.push(citationObject(event.citation));
        break;
      case 'refusal-end':
      case 'text-end':
        if (text === '' && citations.length === 0) break;
        content.push({ type: 'text', text, ...(citations.length > 0 && { citations }) });
        break;
      case 'reasoning-end': {
        const { signature } = event;
        const data = text === '' ? redactedOf(signature) : null;
        const field = signature === null ? '' : signatureField(signature);
        if (data !== null) content.push({ type: 'redacted_thinking', data });
        else if (text !== '' || (signature !== null && !isBare(signature))) {
          content.push({ type: 'thinking', thinking: text, signature: field });
        }
        break;
      }
      case 'tool-end':
        calls.push({ index: content.length, name: call.name, json: text });
        content.push({ type: 'tool_use', id: callIdOnWire(call.id), name: call.name });
        break;
      case 'native':
        if (event.dialect !== 'messages') throw untranslatableBlock('messages', event);
        content.push(event.value as Json);
        break;
      case 'finish':
        finish = event;
        usage = event.usage ?? usage;
        break;
      case 'error':
        throw event.failure;
    }
  }
  if (finish === null) throw truncatedAnswer();
  for (const { index, name, json } of calls) {
    content[index] = { ...content[index], input: inputOf(name, json, finish) };
  }
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model,
    content,
    ...stopOf(finish, refusal),
    usage: usageObject(usage ?? estimatedUsage?.(0) ?? null),
  };
}

/** The arguments of a call as an object, which messages has in place of JSON text. */
function inputOf(name: string, json: string, { reason }: Finish): Json {
  const input = json === '' ? {} : tryParseJson(json);
  if (isObject(input)) return input;
  // The token limit may cut the arguments; the stop reason shows that.
  if (input === undefined && reason === 'length') return {};
  const what = `a call of ${name} whose arguments are not a JSON object`;
  throw untranslatableAnswer('messages', what);
}
