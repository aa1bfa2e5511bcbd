import type {
  Json,
  MediaPart,
  Part,
  TextRequest,
  ToolCallPart,
  ToolResultPart,
} from '../../canonical/canonical.ts';
import { alternatingTurns, type AlternatingTurn as Message } from '../alternating-turns.ts';
import { markedBlock } from '../cache-marks.ts';
import { callIdOnWire, callInput } from '../calls.ts';
import type { Target } from '../dialect.ts';
import { lacks, refuseNative, untranslatable } from '../request-errors.ts';
import { nameOnWire } from '../tool-names.ts';
import { replayedReasoning } from './reasoning.ts';

/** A conversation for messages upstreams: instructions, then messages with alternating roles. */
export interface Conversation {
  readonly system: string | readonly Json[] | null;
  readonly messages: readonly Json[];
}

/** Encodes a conversation of another dialect. */
export function encodeTurns(request: TextRequest, target: Target): Conversation {
  const { system, turns } = alternatingTurns(request, target.dialect, {
    textBlock: (text, part) => markedBlock(textBlock(text), part),
    encode: (turn, message) => {
      for (const part of turn.parts) add(message, part, target);
    },
  });
  return {
    system: system.length === 0 ? null : contentOf(system),
    messages: turns.map(({ role, blocks, results }) => ({
      role,
      content: contentOf([...results.map(({ block }) => block), ...blocks]),
    })),
  };
}

function contentOf(blocks: readonly Json[]): string | readonly Json[] {
  const [only] = blocks;
  const isPlain =
    blocks.length === 1 && only!['type'] === 'text' && only!['cache_control'] === undefined;
  return isPlain ? (only!['text'] as string) : blocks;
}

const textBlock = (text: string): Json => ({ type: 'text', text });

function add({ role, blocks, calls, results }: Message, part: Part, target: Target): void {
  switch (part.type) {
    case 'text':
      if (part.text !== '') blocks.push(markedBlock(textBlock(part.text), part));
      break;
    case 'refusal':
      if (part.text !== '') blocks.push(textBlock(part.text));
      break;
    case 'media':
      if (role === 'assistant') throw untranslatable(part.path, target.dialect);
      blocks.push(markedBlock(mediaBlock(part, target), part));
      break;
    case 'reasoning': {
      const block = replayedReasoning(part, target);
      if (block !== null) blocks.push(block);
      break;
    }
    case 'tool-call':
      calls.push(part.id);
      blocks.push(markedBlock(callBlock(part, target), part));
      break;
    case 'tool-result':
      results.push({ id: part.callId, block: markedBlock(resultBlock(part, target), part) });
      break;
    case 'native':
      refuseNative(part, target.dialect);
  }
}

function callBlock(part: ToolCallPart, { dialect }: Target): Json {
  const { id, name } = part;
  const input = callInput(part, dialect);
  return { type: 'tool_use', id: callIdOnWire(id), name: nameOnWire(name), input };
}

function resultBlock({ callId, content, isError }: ToolResultPart, target: Target): Json {
  const blocks = content.flatMap((part): Json[] => {
    if (part.type === 'native') return refuseNative(part, target.dialect);
    if (part.type === 'media') return [mediaBlock(part, target)];
    return part.text === '' ? [] : [textBlock(part.text)];
  });
  return {
    type: 'tool_result',
    tool_use_id: callIdOnWire(callId),
    ...(blocks.length > 0 && { content: contentOf(blocks) }),
    ...(isError && { is_error: true }),
  };
}

function mediaBlock(part: MediaPart, { dialect }: Target): Json {
  const { media, source, path } = part;
  if (media !== 'image' && media !== 'document')
    throw untranslatable(path, dialect, lacks(dialect, media));
  if (source.kind === 'file') {
    throw untranslatable(path, dialect, 'this provider does not have files of other providers');
  }
  const title = media === 'document' && part.filename ? { title: part.filename } : {};
  if (source.kind === 'url')
    return { type: media, source: { type: 'url', url: source.url }, ...title };
  const { mediaType, data } = source;
  if (media === 'image' || mediaType === 'application/pdf') {
    return { type: media, source: { type: 'base64', media_type: mediaType, data }, ...title };
  }
  if (!mediaType.startsWith('text/')) {
    throw untranslatable(path, dialect, `takes PDF and plain text, received ${mediaType}`);
  }
  const text = Buffer.from(data, 'base64').toString();
  return { type: media, source: { type: 'text', media_type: 'text/plain', data: text }, ...title };
}
