import { isObject, objectOf, objectsOf, textOf } from '../../../schema/untrusted.ts';
import type { Json, Part, TextRequest } from '../../canonical/canonical.ts';
import { withAcceptedMarks } from '../cache-marks.ts';
import type { Target } from '../dialect.ts';
import { toolsOnWire } from '../messages/encode-settings.ts';
import { encodeTurns } from '../messages/encode-turns.ts';
import {
  refuseEmpty,
  refuseNativeFields,
  refusePrefill,
  refuseSettings,
  unsupportedSetting,
  untranslatable,
} from '../request-errors.ts';
import { nameOnWire } from '../tool-names.ts';

/** Formats of images by their media types. */
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** Characters of the name of a document, and those that AWS refuses there. */
const MAX_NAME = 200;
const NOT_IN_NAMES = /[^\p{L}\p{N}()[\]-]+/gu;

/**
 * A request of Converse by AWS's model of its service. Its blocks are those of messages under other names.
 *
 * @throws Failure invalid_request for a field that Converse does not have; `param` names it
 */
export function encodeRequest(given: TextRequest, target: Target): Json {
  const request = withAcceptedMarks(given);
  refuseNativeFields(request, 'converse');
  refuseSettings(request, 'converse');
  refuseEmpty(request, 'converse');
  refusePrefill(request, 'converse');
  for (const { parts } of request.turns) parts.forEach(checkMedia);
  const { system, messages } = encodeTurns(request, target);
  const { maxOutputTokens, temperature, topP, stop } = request;
  const settings = {
    maxTokens: maxOutputTokens ?? target.maxOutputTokens,
    ...{ temperature, topP, stopSequences: stop?.length ? stop : null },
  };
  const inferenceConfig = Object.entries(settings).filter(([, value]) => value !== null);
  const output = outputOf(request);
  const toolConfig = toolConfigOf(request);
  const names = new Set<string>();
  return {
    ...(system !== null && { system: blocksOf(system, names) }),
    messages: messages.map(({ role, content }) => ({ role, content: blocksOf(content, names) })),
    ...(inferenceConfig.length > 0 && { inferenceConfig: Object.fromEntries(inferenceConfig) }),
    ...(toolConfig !== null && { toolConfig }),
    ...(Object.keys(output).length > 0 && { outputConfig: output }),
  };
}

/** Converse takes the bytes of images and documents. @throws Failure of the request */
function checkMedia(part: Part): void {
  if (part.type === 'tool-result') part.content.forEach(checkMedia);
  if (part.type !== 'media') return;
  const { source, media, path } = part;
  if (source.kind === 'url') {
    throw untranslatable(path, 'converse', `this upstream takes ${media}s as data, not by address`);
  }
  if (media !== 'image' || source.kind !== 'data' || IMAGES.includes(source.mediaType)) return;
  const why = `this upstream takes images in ${IMAGES.join(', ')}, received ${source.mediaType}`;
  throw untranslatable(path, 'converse', why);
}

function outputOf({ reasoning, format }: TextRequest): Json {
  const effort = reasoning?.effort ?? 'none';
  const schema = format?.type === 'json-schema' ? JSON.stringify(format.schema) : null;
  const structure = { jsonSchema: { schema, name: 'answer' } };
  return {
    ...(effort !== 'none' && { effort: effort === 'minimal' ? 'low' : effort }),
    ...(schema !== null && { textFormat: { type: 'json_schema', structure } }),
  };
}

function toolConfigOf(request: TextRequest): Json | null {
  const { toolChoice, turns } = request;
  const given = toolsOnWire(request, 'converse');
  if (given.length === 0) return null;
  if (toolChoice?.type === 'none') {
    const isUsed = turns.some(({ parts }) => parts.some(({ type }) => type.startsWith('tool-')));
    if (!isUsed) return null;
    const why = 'this upstream cannot be kept from calling tools that it has called before';
    throw unsupportedSetting(request, 'toolChoice', 'converse', why);
  }
  const tools = given.flatMap(({ input_schema: json, cache_control: mark, ...spec }) => [
    { toolSpec: { ...spec, inputSchema: { json } } },
    ...cachePoint(mark),
  ]);
  if (toolChoice?.type === 'native') throw unsupportedSetting(request, 'toolChoice', 'converse');
  if (toolChoice?.type === 'required') return { tools, toolChoice: { any: {} } };
  const name = toolChoice?.type === 'tool' ? nameOnWire(toolChoice.name) : null;
  return { tools, ...(name !== null && { toolChoice: { tool: { name } } }) };
}

function cachePoint(mark: unknown): readonly Json[] {
  if (!isObject(mark)) return [];
  const { ttl } = mark;
  return [{ cachePoint: { type: 'default', ...(ttl !== undefined && { ttl }) } }];
}

/** @param content blocks of messages @param names of the documents so far, each of which is used once */
function blocksOf(content: unknown, names: Set<string>): readonly Json[] {
  if (typeof content === 'string') return [{ text: content }];
  return objectsOf(content).flatMap((block) => [
    blockOf(block, names),
    ...cachePoint(block['cache_control']),
  ]);
}

function blockOf(block: Json, names: Set<string>): Json {
  switch (block['type']) {
    case 'image':
    case 'document':
      return mediaOf(block, names);
    case 'tool_use': {
      const { id: toolUseId, name, input } = block;
      return { toolUse: { toolUseId, name, input } };
    }
    case 'tool_result': {
      const { tool_use_id: toolUseId, content, is_error: isError } = block;
      const status = isError ? 'error' : 'success';
      return { toolResult: { toolUseId, content: blocksOf(content, names), status } };
    }
    case 'thinking': {
      const { thinking: text, signature } = block;
      return { reasoningContent: { reasoningText: { text, signature } } };
    }
    case 'redacted_thinking':
      return { reasoningContent: { redactedContent: block['data'] } };
    default:
      return { text: block['text'] };
  }
}

function mediaOf({ type, source, title }: Json, names: Set<string>): Json {
  const { media_type: mediaType, data } = objectOf(source);
  if (type === 'image') {
    return { image: { format: textOf(mediaType).replace('image/', ''), source: { bytes: data } } };
  }
  const clean = textOf(title).replace(NOT_IN_NAMES, ' ').trim().slice(0, MAX_NAME) || 'document';
  let name = clean;
  for (let number = 2; names.has(name); number += 1) name = `${clean} ${number}`;
  names.add(name);
  const isPdf = mediaType === 'application/pdf';
  const content = isPdf ? { bytes: data } : { text: data };
  return { document: { format: isPdf ? 'pdf' : 'txt', name, source: content } };
}
