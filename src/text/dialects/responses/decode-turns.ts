import { invalid } from '../../../schema/invalid.ts';
import { isObject, nonEmptyTextOf } from '../../../schema/untrusted.ts';
import {
  type Json,
  type MediaPart,
  type MediaSource,
  type Part,
  type ReasoningPart,
  type TextPart,
  type ToolCallPart,
  type Turn,
  turnOf,
} from '../../canonical/canonical.ts';
import { withMark } from '../cache-marks.ts';
import { argumentsOf, callIdFromWire, callOf } from '../calls.ts';
import { mediaPart, sourceOf } from '../media-source.ts';
import { collectRest, type Findings, nativePart } from '../native-parts.ts';
import { isWrapped, unwrapSignature } from '../reasoning-signature.ts';
import { isReference, itemTables, partTables } from './item-fields.ts';
import { reasoningText } from './reasoning.ts';
import { decodeToolItem } from './tool-search.ts';

type Role = Turn['role'];

function decodeImage(part: Json, path: string): MediaPart {
  const url = nonEmptyTextOf(part['image_url']);
  const file = nonEmptyTextOf(part['file_id']);
  if (url === null && file === null) {
    throw invalid(`${path}.image_url`, 'is required: a URL here or a file_id');
  }
  const source =
    url === null ? ({ kind: 'file', id: file! } as const) : sourceOf(url, `${path}.image_url`);
  return mediaPart('image', path, source, { detail: part['detail'] });
}

function decodeFile(part: Json, path: string): MediaPart {
  const file = nonEmptyTextOf(part['file_id']);
  const url = nonEmptyTextOf(part['file_url']);
  const data = nonEmptyTextOf(part['file_data']);
  let source: MediaSource;
  if (file !== null) source = { kind: 'file', id: file };
  else if (url !== null) source = sourceOf(url, `${path}.file_url`);
  else if (data === null) {
    throw invalid(`${path}.file_data`, 'is required: data here, a file_url or a file_id');
  } else if (data.startsWith('data:')) source = sourceOf(data, `${path}.file_data`);
  // OpenAI also accepts Base64 without a media type: it is taken for a PDF file.
  else source = { kind: 'data', mediaType: 'application/pdf', data };
  return mediaPart('document', path, source, part);
}

function decodePart(part: Json, path: string, findings: Findings) {
  const table = partTables.get(part['type']);
  if (table !== undefined) collectRest('responses', table, part, path, findings);
  return withMark(decodeUnmarked(part, path), part, path);
}

function decodeUnmarked(part: Json, path: string) {
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', path, text: part['text'] as string } as const;
    case 'refusal':
      return { type: 'refusal', path, text: part['refusal'] as string } as const;
    case 'input_image':
      return decodeImage(part, path);
    case 'input_file':
      return decodeFile(part, path);
    default:
      return nativePart('responses', path, part);
  }
}

function decodeContent(content: unknown, path: string, findings: Findings) {
  if (typeof content === 'string') return [{ type: 'text', path, text: content } as const];
  return (content as readonly Json[]).map((part, index) =>
    decodePart(part, `${path}[${index}]`, findings),
  );
}

function decodeCall(item: Json, path: string): ToolCallPart {
  const call = { id: item['call_id'] as string, name: item['name'] as string };
  const isCustom = item['type'] === 'custom_tool_call';
  const json = isCustom
    ? (item['input'] as string)
    : argumentsOf(item['arguments'] as string, `${path}.arguments`);
  return {
    ...callOf(path, call, json),
    ...(isCustom && { hasTextInput: true }),
    ...namespaceOf(item),
  };
}

/** The namespace of a call, if any. */
export function namespaceOf(item: Json): { readonly namespace?: string } {
  const namespace = nonEmptyTextOf(item['namespace']);
  return namespace === null ? {} : { namespace };
}

/** Whether a program at the provider made a call. */
export function isNativeCall({ caller }: Json): boolean {
  return isObject(caller) && caller['type'] !== 'direct';
}

function decodeReasoning(item: Json, path: string): ReasoningPart {
  const text = reasoningText(item);
  const encrypted = nonEmptyTextOf(item['encrypted_content']);
  if (encrypted === null) return { type: 'reasoning', path, text, signature: null };
  if (isWrapped(encrypted))
    return { type: 'reasoning', path, text, signature: unwrapSignature(encrypted) };
  const { type: _, status: __, ...value } = item;
  return {
    type: 'reasoning',
    path,
    text,
    signature: { dialect: 'responses', provider: null, value },
  };
}

function collect(
  type: keyof typeof itemTables,
  item: Json,
  path: string,
  findings: Findings,
): void {
  collectRest('responses', itemTables[type], item, path, findings);
}

/** The role and the parts of an item; null for one that is no part of the conversation. */
function decodeItem(item: Json, path: string, findings: Findings): [Role, readonly Part[]] | null {
  const type = item['type'] ?? null;
  if (isReference(item)) return ['assistant', [nativePart('responses', path, item)]];
  switch (type) {
    case null:
    case 'message': {
      collect('message', item, path, findings);
      const role = item['role'] as Role;
      return [role, decodeContent(item['content'], `${path}.content`, findings)];
    }
    case 'reasoning':
      collect('reasoning', item, path, findings);
      return ['assistant', [decodeReasoning(item, path)]];
    case 'function_call':
    case 'custom_tool_call':
      collect('function_call', item, path, findings);
      return ['assistant', [decodeCall(item, path)]];
    case 'custom_tool_call_output':
    case 'function_call_output': {
      collect('function_call_output', item, path, findings);
      const content = decodeContent(item['output'], `${path}.output`, findings).map((part) =>
        part.type === 'refusal' ? ({ ...part, type: 'text' } satisfies TextPart) : part,
      );
      const callId = callIdFromWire(item['call_id'] as string);
      return ['user', [{ type: 'tool-result', path, callId, content, isError: false }]];
    }
    case 'additional_tools':
      return null;
    case 'tool_search_call':
    case 'tool_search_output': {
      if (item['execution'] === 'server') {
        // Upstreams of other formats are sent the tools that the provider found with all others.
        findings.advice.push(path);
        return null;
      }
      const part = decodeToolItem(item, path) ?? nativePart('responses', path, item);
      return [type === 'tool_search_call' ? 'assistant' : 'user', [part]];
    }
    default: {
      const isResult = /_output$|_response$/.test(String(type));
      return [isResult ? 'user' : 'assistant', [nativePart('responses', path, item)]];
    }
  }
}

/** The turns of a conversation. Adjacent items of the assistant are one turn. */
export function decodeTurns(instructions: unknown, input: unknown, findings: Findings): Turn[] {
  const turns: (Turn & { readonly parts: Part[] })[] = [];
  const add = (role: Role, path: string, parts: readonly Part[]) => {
    const last = turns.at(-1);
    if (last?.role === role && (role === 'assistant' || role === 'user') && continues(last)) {
      for (const part of parts) last.parts.push(part);
    } else {
      const own = [...parts];
      turns.push({ ...turnOf(role, path, own), parts: own });
    }
  };
  // A user message continues a turn of tool results; two user messages are two turns.
  const continues = ({ role, parts }: Pick<Turn, 'role' | 'parts'>) =>
    role === 'assistant' || parts.at(-1)?.type === 'tool-result';
  if (typeof instructions === 'string') {
    const path = 'instructions';
    add('system', path, [{ type: 'text', path, text: instructions }]);
  }
  if (typeof input === 'string') {
    add('user', 'input', [{ type: 'text', path: 'input', text: input }]);
    return turns;
  }
  (input as readonly Json[]).forEach((item, index) => {
    const path = `input[${index}]`;
    const decoded = decodeItem(item, path, findings);
    if (decoded !== null) add(decoded[0], path, decoded[1]);
  });
  return turns;
}
