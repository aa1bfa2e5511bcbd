import { valueOr } from '../../../flow.ts';
import { invalid } from '../../../schema/invalid.ts';
import { textOf } from '../../../schema/untrusted.ts';
import {
  FILE_SCHEME,
  functionOf,
  type Json,
  type MediaPart,
  type NativePart,
  type Part,
  type ReasoningPart,
  type TextPart,
  type Tool,
  type Turn,
  turnOf,
} from '../../canonical/canonical.ts';
import { callIdFromWire, callOf } from '../calls.ts';
import { mediaPart } from '../media-source.ts';
import { collectRest, type Findings, nativePart } from '../native-parts.ts';
import { isWrapped, unwrapSignature } from '../reasoning-signature.ts';
import {
  type Block,
  blockTables,
  type DocumentBlock,
  type ImageBlock,
  messageFields,
  type ThinkingBlock,
  type ToolResultBlock,
} from './block-fields.ts';
import { describedTool } from './defined-tools.ts';
import type { MessagesRequest } from './fields.ts';
import { clientTool, isToolSearch } from './tool-fields.ts';

/**
 * One block of a message.
 *
 * @param advice gets the paths of properties that only advise
 * @returns null for an empty text
 */
function partOf(block: Json, path: string, advice: string[]): Part | null {
  const { type, name } = block;
  const table = blockTables.get(type);
  if (type === 'tool_reference') {
    const text = `Tool that can be called now: ${textOf(block['tool_name'])}`;
    return { type: 'text', path, text };
  }
  if (type === 'tool_search_tool_result' || (type === 'server_tool_use' && isToolSearch(name))) {
    // Upstreams of other formats are sent the tools that the provider found with all others.
    advice.push(path);
    return null;
  }
  if (table === undefined) return nativePart('messages', path, block);
  const [nativeName] = table.nativeNames(block, path, advice);
  if (nativeName !== undefined) return nativePart('messages', `${path}.${nativeName}`, block);
  return decodeBlock(block as unknown as Block, path, advice);
}

function decodeBlock(block: Block, path: string, advice: string[]): Part | null {
  switch (block.type) {
    case 'text':
      return block.text === '' ? null : { type: 'text', path, text: block.text };
    case 'image':
      return mediaPart('image', path, sourceOf(block.source));
    case 'document':
      return documentOf(block, path);
    case 'thinking':
      return thinkingOf(block, path);
    case 'redacted_thinking':
      return {
        type: 'reasoning',
        path,
        text: '',
        signature: { dialect: 'messages', provider: null, value: { data: block.data } },
      };
    case 'tool_use':
      return callOf(path, block, jsonText(block.input, `${path}.input`));
    case 'tool_result':
      return {
        type: 'tool-result',
        path,
        callId: callIdFromWire(block.tool_use_id),
        content: resultContent(block.content, `${path}.content`, advice),
        isError: block.is_error === true,
      };
  }
}

function jsonText(value: unknown, path: string): string {
  // JSON.parse accepts any depth, JSON.stringify does not.
  const text = valueOr(() => JSON.stringify(value), null);
  if (text === null) throw invalid(path, 'nested too deeply');
  return text;
}

/** An address of the web, or of a file at a provider. */
function addressed(url: string): MediaPart['source'] {
  return url.startsWith(FILE_SCHEME) ? { kind: 'file', id: url } : { kind: 'url', url };
}

function sourceOf(source: ImageBlock['source']): MediaPart['source'] {
  if (source.type === 'url') return addressed(source.url);
  if (source.type === 'file') return { kind: 'file', id: source.file_id };
  return { kind: 'data', mediaType: source.media_type, data: source.data };
}

function documentOf(block: DocumentBlock, path: string): MediaPart | NativePart {
  const { source } = block;
  const about = { filename: block.title };
  if (source.type === 'content') return nativePart('messages', `${path}.source`, block);
  if (source.type !== 'text') return mediaPart('document', path, sourceOf(source), about);
  const data = Buffer.from(source.data).toString('base64');
  return mediaPart('document', path, { kind: 'data', mediaType: 'text/plain', data }, about);
}

function thinkingOf({ thinking, signature }: ThinkingBlock, path: string): ReasoningPart | null {
  if (!signature && thinking === '') return null;
  const part = { type: 'reasoning', path, text: thinking } as const;
  if (!signature) return { ...part, signature: null };
  if (isWrapped(signature)) {
    const unwrapped = unwrapSignature(signature);
    const { hidden, ...value } = unwrapped?.value ?? {};
    const text = thinking === '' && typeof hidden === 'string' ? hidden : thinking;
    return { ...part, text, signature: unwrapped && { ...unwrapped, value } };
  }
  return { ...part, signature: { dialect: 'messages', provider: null, value: { signature } } };
}

type Content = TextPart | MediaPart | NativePart;

function resultContent(
  content: ToolResultBlock['content'],
  path: string,
  advice: string[],
): readonly Content[] {
  if (typeof content === 'string')
    return content === '' ? [] : [{ type: 'text', path, text: content }];
  const parts: Content[] = [];
  for (const [index, block] of (content ?? []).entries()) {
    // The schema of results allows only these parts.
    const part = partOf(block as Json, `${path}[${index}]`, advice) as Content | null;
    if (part !== null) parts.push(part);
  }
  return parts;
}

/** The turns of a conversation. */
export function decodeTurns(body: MessagesRequest, findings: Findings): readonly Turn[] {
  const { advice } = findings;
  const turns: Turn[] = [];
  if (body.system) {
    const parts = partsOf(body.system, 'system', advice);
    if (parts.length > 0) turns.push(turnOf('system', 'system', parts));
  }
  const last = body.messages.length - 1;
  for (const [index, message] of body.messages.entries()) {
    const path = `messages[${index}]`;
    const { role, content } = message;
    const parts = partsOf(content as string | readonly Json[], `${path}.content`, advice);
    // A last message of the assistant is a prefill, which the answer continues.
    const partial = role === 'assistant' && index === last && parts.at(-1)?.type === 'text';
    turns.push(turnOf(role, path, parts, partial));
    collectRest('messages', messageFields, message, path, findings);
  }
  return turns;
}

function partsOf(content: string | readonly Json[], path: string, advice: string[]): Part[] {
  if (typeof content === 'string')
    return content === '' ? [] : [{ type: 'text', path, text: content }];
  const parts: Part[] = [];
  for (let index = 0; index < content.length; index += 1) {
    const part = partOf(content[index]!, `${path}[${index}]`, advice);
    if (part !== null) parts.push(part);
  }
  return parts;
}

/** One entry of `tools`; null for a search by the provider among the others. */
export function toolOf(tool: Json, path: string, advice: string[]): Tool | NativePart | null {
  const { type } = tool;
  if (isToolSearch(type)) {
    advice.push(path);
    return null;
  }
  const described = describedTool(tool);
  if (described === null) return nativePart('messages', path, tool);
  const [nativeName] = clientTool.nativeNames(described, path, advice);
  if (nativeName !== undefined) return nativePart('messages', `${path}.${nativeName}`, tool);
  return functionOf(path, { ...described, parameters: described['input_schema'] });
}
