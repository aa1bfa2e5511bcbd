import type {
  Json,
  MediaPart,
  NativePart,
  Part,
  ReasoningPart,
  RefusalPart,
  TextPart,
  TextRequest,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../../canonical/canonical.ts';
import { markedPart } from '../cache-marks.ts';
import { callIdOnWire } from '../calls.ts';
import type { Target } from '../dialect.ts';
import { dataUrl } from '../media-source.ts';
import { nativeValue } from '../native-parts.ts';
import { isBare } from '../reasoning-signature.ts';
import { lacks, refuseNames, refusePrefill, untranslatable } from '../request-errors.ts';
import { nameOnWire } from '../tool-names.ts';
import { isSelfContained } from './reasoning.ts';

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
        // OpenAI requires a file name for data.
        filename: filename ?? `document.${source.mediaType.split('/')[1] ?? 'pdf'}`,
        file_data: dataUrl(source),
      };
    case 'file':
      return { type: 'input_file', file_id: source.id };
  }
}

function encodePart(part: InputPart): unknown {
  if (part.type === 'text') return markedPart({ type: 'input_text', text: part.text }, part);
  if (part.type === 'native') return nativeValue(part, OWN);
  if (part.media === 'image') return markedPart(encodeImage(part), part);
  if (part.media === 'document') return markedPart(encodeFile(part), part);
  throw untranslatable(part.path, OWN, lacks(OWN, part.media));
}

/** The content of a message: a plain text if it has no other part. */
function encodeContent(parts: readonly InputPart[]): unknown {
  const [first] = parts;
  if (!first) return '';
  const isPlain = parts.length === 1 && first.type === 'text' && !first.cacheMark?.isBreakpoint;
  return isPlain ? first.text : parts.map(encodePart);
}

/** A tool result. Responses has no error flag: the text of a failed result begins with "Error". */
function encodeResult(
  { callId, content, isError }: ToolResultPart,
  customCalls: ReadonlySet<string>,
): Json {
  const [first, ...others] = content;
  const hasPrefix = first?.type === 'text' && /^\s*error/i.test(first.text);
  let parts: readonly InputPart[] = content;
  if (isError && !hasPrefix) {
    const text = first?.type === 'text' ? `Error: ${first.text}` : 'Error:';
    const path = first?.path ?? '';
    const rest = first?.type === 'text' ? others : content;
    parts = [{ type: 'text', path, text }, ...rest];
  }
  return {
    type: customCalls.has(callId) ? 'custom_tool_call_output' : 'function_call_output',
    call_id: callIdOnWire(callId),
    output: encodeContent(parts),
  };
}

/**
 * The reasoning item as its provider sent it; null for another provider, or if the provider cannot read
 * it.
 *
 * @param isStored whether the provider stores the item by its id
 */
export function reasoningItem(
  { signature }: ReasoningPart,
  target: Target,
  isStored: boolean,
): Json | null {
  if (signature?.dialect !== OWN) return null;
  if (signature.provider !== null && signature.provider !== target.provider) return null;
  return (isStored && !isBare(signature)) || isSelfContained(signature)
    ? { type: 'reasoning', ...signature.value }
    : null;
}

function assistantItems({ parts }: Turn, target: Target): unknown[] {
  const items: unknown[] = [];
  let message: (TextPart | RefusalPart)[] = [];
  const endMessage = () => {
    const content = message
      .filter(({ text }) => text !== '')
      .map((part) =>
        part.type === 'text'
          ? { type: 'output_text', text: part.text }
          : { type: 'refusal', refusal: part.text },
      );
    if (content.length > 0) items.push({ type: 'message', role: 'assistant', content });
    message = [];
  };
  for (const part of parts) {
    if (part.type === 'text' || part.type === 'refusal') {
      message.push(part);
      continue;
    }
    endMessage();
    const item = assistantItem(part, target);
    if (item !== null) items.push(item);
  }
  endMessage();
  return items;
}

function assistantItem(part: Exclude<Part, TextPart | RefusalPart>, target: Target): unknown {
  switch (part.type) {
    case 'tool-call':
      return callItem(part);
    case 'reasoning':
      return reasoningItem(part, target, false);
    case 'native':
      return nativeValue(part, OWN);
    default:
      throw untranslatable(part.path, OWN);
  }
}

function callItem({ id, name, arguments: json, hasTextInput }: ToolCallPart): Json {
  const call = { call_id: callIdOnWire(id), name: nameOnWire(name) };
  return hasTextInput
    ? { type: 'custom_tool_call', ...call, input: json }
    : { type: 'function_call', ...call, arguments: json };
}

/** The items of a turn that is not the assistant's: messages and tool results. */
function promptItems({ role, parts }: Turn, customCalls: ReadonlySet<string>): unknown[] {
  const items: unknown[] = [];
  let message: InputPart[] = [];
  const endMessage = (allowEmpty: boolean) => {
    const content = message.filter((part) => part.type !== 'text' || part.text !== '');
    if (content.length > 0 || allowEmpty) {
      items.push({ type: 'message', role, content: encodeContent(content) });
    }
    message = [];
  };
  for (const part of parts) {
    switch (part.type) {
      case 'text':
      case 'media':
      case 'native':
        message.push(part);
        break;
      case 'tool-result':
        endMessage(false);
        items.push(encodeResult(part, customCalls));
        break;
      default:
        throw untranslatable(part.path, OWN);
    }
  }
  endMessage(items.length === 0);
  return items;
}

/** A conversation as a list of items. System turns keep their position. */
export function encodeTurns(request: TextRequest, target: Target): unknown[] {
  refusePrefill(request, OWN);
  refuseNames(request, OWN);
  const customCalls = new Set<string>();
  for (const { parts } of request.turns) {
    for (const part of parts) {
      if (part.type === 'tool-call' && part.hasTextInput) customCalls.add(part.id);
    }
  }
  return request.turns.flatMap((turn) =>
    turn.role === 'assistant' ? assistantItems(turn, target) : promptItems(turn, customCalls),
  );
}
