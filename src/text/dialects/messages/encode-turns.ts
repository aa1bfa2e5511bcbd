import { tryParseJson } from '../../../schema/json.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type {
  Json,
  MediaPart,
  Part,
  TextPart,
  TextRequest,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from '../../canonical.ts';
import { callIdOnWire } from '../call-ids.ts';
import type { Target } from '../dialect.ts';
import { refuseNames, refuseNative, untranslatable } from '../request-errors.ts';
import { nameOnWire } from '../tool-names.ts';
import { replayedReasoning } from './reasoning.ts';

interface Result {
  readonly id: string;
  readonly block: Json;
}

interface Message {
  readonly role: 'user' | 'assistant';
  readonly blocks: Json[];
  /** Ids of its tool calls, in order. */
  readonly calls: string[];
  readonly results: Result[];
}

/** A conversation for messages upstreams: instructions, then messages with alternating roles. */
export interface Conversation {
  readonly system: string | readonly Json[] | null;
  readonly messages: readonly Json[];
}

/**
 * Encodes a conversation of another dialect.
 *
 * The first system turns become `system`. Later ones keep their position as text of a user message in
 * `<system>` tags: at the front they would be out of order, and most models accept no other role.
 */
export function encodeTurns(request: TextRequest, target: Target): Conversation {
  const { turns } = request;
  for (const { tools, path } of turns) {
    if (tools !== null) throw untranslatable(`${path}.tools`, 'messages');
  }
  // The name of a tool message is redundant: results have the id of their call.
  refuseNames(request, 'messages', ({ parts }) => {
    return !parts.every(({ type }) => type === 'tool-result');
  });
  const first = turns.findIndex(({ role }) => !isInstruction(role));
  // A conversation of instructions only needs a user message.
  const leading = first === -1 ? turns.length - 1 : first;
  const system = turns.slice(0, leading).flatMap(instructionsOf);
  const messages = merged(turns.slice(leading).map((turn) => messageOf(turn, target)));
  matchResults(messages);
  return {
    system: system.length === 0 ? null : system.length === 1 ? system[0]!.text : system,
    messages: merged(messages).map(({ role, blocks, results }) => ({
      role,
      content: contentOf([...results.map(({ block }) => block), ...blocks]),
    })),
  };
}

function isInstruction(role: Turn['role']): boolean {
  return role === 'system' || role === 'developer';
}

function instructionsOf({ parts }: Turn): { readonly type: 'text'; readonly text: string }[] {
  return parts.flatMap((part) => {
    if (part.type === 'native') return refuseNative(part, 'messages');
    if (part.type !== 'text') throw untranslatable(part.path, 'messages');
    return part.text === '' ? [] : [{ type: 'text' as const, text: part.text }];
  });
}

function contentOf(blocks: readonly Json[]): string | readonly Json[] {
  const [only] = blocks;
  const isText = blocks.length === 1 && only!['type'] === 'text';
  return isText ? (only!['text'] as string) : blocks;
}

function messageOf(turn: Turn, target: Target): Message {
  const role = turn.role === 'assistant' ? 'assistant' : 'user';
  const message: Message = { role, blocks: [], calls: [], results: [] };
  if (isInstruction(turn.role)) {
    const text = instructionsOf(turn).map((one) => one.text);
    if (text.length > 0)
      message.blocks.push(textBlock(`<system>\n${text.join('\n\n')}\n</system>`));
    return message;
  }
  for (const part of turn.parts) add(message, part, target);
  return message;
}

function textBlock(text: string): Json {
  return { type: 'text', text };
}

function add({ role, blocks, calls, results }: Message, part: Part, target: Target): void {
  switch (part.type) {
    case 'text':
    case 'refusal':
      if (part.text !== '') blocks.push(textBlock(part.text));
      break;
    case 'media':
      if (role === 'assistant') throw untranslatable(part.path, 'messages');
      blocks.push(mediaBlock(part));
      break;
    case 'reasoning': {
      const block = replayedReasoning(part, target);
      if (block !== null) blocks.push(block);
      break;
    }
    case 'tool-call':
      calls.push(part.id);
      blocks.push(callBlock(part));
      break;
    case 'tool-result':
      results.push({ id: part.callId, block: resultBlock(part) });
      break;
    case 'native':
      refuseNative(part, 'messages');
  }
}

function callBlock({ id, name, arguments: json, path }: ToolCallPart): Json {
  return {
    type: 'tool_use',
    id: callIdOnWire(id),
    name: nameOnWire(name),
    input: inputOf(json, path),
  };
}

function inputOf(json: string, path: string): Json {
  const input = json.trim() === '' ? {} : tryParseJson(json);
  if (isObject(input)) return input;
  throw untranslatable(path, 'messages', 'the arguments must be the text of a JSON object');
}

function resultBlock({ callId, content, isError }: ToolResultPart): Json {
  const blocks = content.flatMap((part): Json[] => {
    if (part.type === 'native') return refuseNative(part, 'messages');
    if (part.type === 'media') return [mediaBlock(part)];
    return isEmpty(part) ? [] : [textBlock(part.text)];
  });
  return {
    type: 'tool_result',
    tool_use_id: callIdOnWire(callId),
    ...(blocks.length > 0 && { content: contentOf(blocks) }),
    ...(isError && { is_error: true }),
  };
}

function isEmpty({ text }: TextPart): boolean {
  return text === '';
}

function mediaBlock(part: MediaPart): Json {
  const { media, source, path } = part;
  if (media !== 'image' && media !== 'document') throw untranslatable(path, 'messages');
  if (source.kind === 'file') {
    throw untranslatable(path, 'messages', 'this provider does not have files of other providers');
  }
  const title = media === 'document' && part.filename ? { title: part.filename } : {};
  if (source.kind === 'url')
    return { type: media, source: { type: 'url', url: source.url }, ...title };
  const { mediaType, data } = source;
  if (media === 'image' || mediaType === 'application/pdf') {
    return { type: media, source: { type: 'base64', media_type: mediaType, data }, ...title };
  }
  if (!mediaType.startsWith('text/')) {
    throw untranslatable(path, 'messages', `takes PDF and plain text, received ${mediaType}`);
  }
  const text = Buffer.from(data, 'base64').toString();
  return { type: media, source: { type: 'text', media_type: 'text/plain', data: text }, ...title };
}

/** Merges adjacent messages of one role and drops empty ones. */
function merged(messages: readonly Message[]): Message[] {
  const mergedMessages: Message[] = [];
  for (const { role, blocks, calls, results } of messages) {
    if (blocks.length === 0 && results.length === 0) continue;
    const last = mergedMessages.at(-1);
    if (last?.role !== role) {
      mergedMessages.push({ role, blocks: [...blocks], calls: [...calls], results: [...results] });
      continue;
    }
    for (const block of blocks) last.blocks.push(block);
    for (const call of calls) last.calls.push(call);
    for (const result of results) last.results.push(result);
  }
  return mergedMessages;
}

/**
 * Moves results where Anthropic requires them: all results of a message's calls into the next message, in
 * the order of the calls. Some providers reuse ids in every turn, so that each result is matched once,
 * with the first call before it.
 */
function matchResults(messages: readonly Message[]): void {
  const unmatched = new Map<string, { readonly from: number; readonly result: Result }[]>();
  for (const [from, { results }] of messages.entries()) {
    for (const result of results.splice(0)) {
      const queue = unmatched.get(result.id);
      if (queue) queue.push({ from, result });
      else unmatched.set(result.id, [{ from, result }]);
    }
  }
  for (const [index, { calls }] of messages.entries()) {
    for (const id of calls) {
      const queue = unmatched.get(id) ?? [];
      const position = queue.findIndex(({ from }) => from > index);
      if (position === -1) continue;
      messages[index + 1]!.results.push(queue[position]!.result);
      queue.splice(position, 1);
    }
  }
  // Results without a call stay in place, so that the provider refuses them.
  for (const { from, result } of [...unmatched.values()].flat())
    messages[from]!.results.push(result);
}
