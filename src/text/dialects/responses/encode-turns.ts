import type {
  Json,
  MediaPart,
  NativePart,
  Part,
  ReasoningPart,
  RefusalPart,
  TextPart,
  TextRequest,
  ToolResultPart,
  Turn,
} from '../../canonical.ts';
import { callIdOnWire } from '../call-ids.ts';
import type { Target } from '../dialect.ts';
import { dataUrl } from '../media-source.ts';
import { isBare } from '../reasoning-signature.ts';
import { refuseNative, untranslatable } from '../request-errors.ts';
import { nameOnWire } from '../tool-names.ts';
import { isWhole } from './reasoning.ts';

const OWN = 'responses';

type InputPart = TextPart | MediaPart | NativePart;

function encodeImage({ source, detail }: MediaPart): Json {
  const about = { type: 'input_image', detail: detail ?? 'auto' };
  switch (source.kind) {
    case 'url':
      return { ...about, image_url: source.url };
    case 'data':
      return { ...about, image_url: dataUrl(source) };
    case 'file':
      return { ...about, file_id: source.id };
  }
}

function encodeFile({ source, filename }: MediaPart): Json {
  const named = filename !== null && { filename };
  switch (source.kind) {
    case 'url':
      return { type: 'input_file', ...named, file_url: source.url };
    case 'data':
      return {
        type: 'input_file',
        // Data without a name is refused.
        filename: filename ?? `document.${source.mediaType.split('/')[1] ?? 'pdf'}`,
        file_data: dataUrl(source),
      };
    case 'file':
      return { type: 'input_file', file_id: source.id };
  }
}

function encodePart(part: InputPart): unknown {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  if (part.type === 'native') return part.dialect === OWN ? part.value : refuseNative(part, OWN);
  if (part.media === 'image') return encodeImage(part);
  if (part.media === 'document') return encodeFile(part);
  throw untranslatable(part.path, OWN);
}

/** One text alone is written as such. */
function encodeContent(parts: readonly InputPart[]): unknown {
  const [first] = parts;
  if (!first) return '';
  return parts.length === 1 && first.type === 'text' ? first.text : parts.map(encodePart);
}

/** A result's own text, which says that it is an error where only the text can. */
function encodeResult({ callId, content, isError }: ToolResultPart): Json {
  const [first, ...others] = content;
  const told = first?.type === 'text' && /^\s*error/i.test(first.text);
  let parts: readonly InputPart[] = content;
  if (isError && !told) {
    const text = first?.type === 'text' ? `Error: ${first.text}` : 'Error:';
    const path = first?.path ?? '';
    const rest = first?.type === 'text' ? others : content;
    parts = [{ type: 'text', path, text }, ...rest];
  }
  return {
    type: 'function_call_output',
    call_id: callIdOnWire(callId),
    output: encodeContent(parts),
  };
}

/** Reasoning exactly as its provider gave it; null where it is another's, or cannot be read again. */
export function reasoningItem(
  { signature }: ReasoningPart,
  target: Target,
  kept: boolean,
): Json | null {
  if (signature?.dialect !== OWN) return null;
  if (signature.provider !== null && signature.provider !== target.provider) return null;
  return (kept && !isBare(signature)) || isWhole(signature)
    ? { type: 'reasoning', ...signature.value }
    : null;
}

function assistantItems({ parts }: Turn, target: Target): unknown[] {
  const items: unknown[] = [];
  let said: (TextPart | RefusalPart)[] = [];
  const speak = () => {
    const content = said
      .filter(({ text }) => text !== '')
      .map((part) =>
        part.type === 'text'
          ? { type: 'output_text', text: part.text }
          : { type: 'refusal', refusal: part.text },
      );
    if (content.length > 0) items.push({ type: 'message', role: 'assistant', content });
    said = [];
  };
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') {
      said.push(part);
      continue;
    }
    speak();
    const item = assistantItem(part, target);
    if (item !== null) items.push(item);
  }
  speak();
  return items;
}

function assistantItem(part: Exclude<Part, TextPart | RefusalPart>, target: Target): unknown {
  switch (part.type) {
    case 'tool-call':
      return {
        type: 'function_call',
        call_id: callIdOnWire(part.id),
        name: nameOnWire(part.name),
        arguments: part.arguments,
      };
    case 'reasoning':
      return reasoningItem(part, target, false);
    case 'native':
      return part.dialect === OWN ? part.value : refuseNative(part, OWN);
    default:
      throw untranslatable(part.path, OWN);
  }
}

/** A turn of whoever is not the assistant: what was said is one message, each result an item. */
function givenItems({ role, parts }: Turn): unknown[] {
  const items: unknown[] = [];
  let said: InputPart[] = [];
  const speak = (evenNothing: boolean) => {
    const content = said.filter((part) => part.type !== 'text' || part.text !== '');
    if (content.length > 0 || evenNothing) {
      items.push({ type: 'message', role, content: encodeContent(content) });
    }
    said = [];
  };
  for (const part of parts) {
    switch (part.type) {
      case 'text':
      case 'media':
      case 'native':
        said.push(part);
        break;
      case 'tool-result':
        speak(false);
        items.push(encodeResult(part));
        break;
      default:
        throw untranslatable(part.path, OWN);
    }
  }
  speak(items.length === 0);
  return items;
}

/** A conversation as a list of items. Who speaks stays who speaks: each system turn keeps its place. */
export function encodeTurns(request: TextRequest, target: Target): unknown[] {
  const last = request.turns.at(-1);
  const goesOn = last?.role === 'assistant' && request.dialect === 'messages';
  if (goesOn) throw untranslatable(last.path, OWN);
  return request.turns.flatMap((turn) => {
    if (turn.name !== null) throw untranslatable(`${turn.path}.name`, OWN);
    if (turn.partial) throw untranslatable(`${turn.path}.partial`, OWN);
    if (turn.tools !== null) throw untranslatable(`${turn.path}.tools`, OWN);
    return turn.role === 'assistant' ? assistantItems(turn, target) : givenItems(turn);
  });
}
