import { quoteValue } from '../../../schema/fields.ts';
import { expected, invalid } from '../../../schema/invalid.ts';
import {
  functionOf,
  type Json,
  type MediaPart,
  type NativePart,
  type Part,
  type RefusalPart,
  type TextPart,
  type Tool,
  type ToolResultPart,
  type Turn,
} from '../../canonical/canonical.ts';
import { cacheMarkOf, withMark } from '../cache-marks.ts';
import { argumentsOf, callIdFromWire, callOf } from '../calls.ts';
import type { FieldTable } from '../field-table.ts';
import { collectRest, type Findings, nativePart } from '../native-parts.ts';
import { decodeCustomCall, decodeCustomTool } from './custom-tools.ts';
import { decodeMedia } from './media.ts';
import * as fields from './message-fields.ts';
import { decodeReasoning } from './reasoning.ts';

/** Collects the properties of an object that the canonical request does not hold. */
function collect(table: FieldTable, object: Json, path: string, findings: Findings): void {
  collectRest('chat', table, object, path, findings);
}

/**
 * Whether a text part repeats the whole answer, as OpenAI's Agents SDK sends it: with the role of the
 * message, and with the reasoning, which the message itself then lacks.
 */
function isEcho(part: Json): boolean {
  return part['type'] === 'text' && part['role'] === 'assistant';
}

function reasoningOf(message: Json): Json {
  const { content } = message;
  const echo = Array.isArray(content) ? (content as readonly Json[]).find(isEcho) : undefined;
  if (echo === undefined) return message;
  const { reasoning_details: details, ...rest } = echo;
  const known = Array.isArray(details) && details.every((one) => typeof one === 'object' && one);
  return { ...rest, ...(known && { reasoning_details: details }), ...message };
}

type Content = TextPart | MediaPart | RefusalPart | NativePart;

function decodePart(part: Json, path: string, findings: Findings): Content {
  if (part['type'] === 'text') {
    collect(isEcho(part) ? fields.echoedPart : fields.textPart, part, path, findings);
    const decoded = { type: 'text', path, text: part['text'] as string } as const;
    // Upstreams get no empty text.
    return decoded.text === '' ? decoded : withMark(decoded, part, path);
  }
  if (part['type'] === 'refusal') {
    collect(fields.refusalPart, part, path, findings);
    return { type: 'refusal', path, text: part['refusal'] as string };
  }
  const media = decodeMedia(part, path);
  if (media === null) return nativePart('chat', path, part);
  collectMedia(part, path, findings);
  if (media.detail !== null && media.detail !== 'auto') {
    findings.advice.push(`${path}.image_url.detail`);
  }
  return withMark(media, part, path);
}

function collectMedia(part: Json, path: string, findings: Findings): void {
  const type = part['type'] as keyof typeof fields.mediaParts;
  const table = fields.mediaParts[type];
  collect(table, part, path, findings);
  collect(table.within(type)!, part[type] as Json, `${path}.${type}`, findings);
}

function decodeContent(content: unknown, path: string, findings: Findings): readonly Content[] {
  if (typeof content === 'string') return [{ type: 'text', path, text: content }];
  const parts = (content ?? []) as readonly Json[];
  return parts.map((part, index) => decodePart(part, `${path}[${index}]`, findings));
}

interface Call extends Json {
  readonly id: string;
  readonly type?: string | null;
  readonly function: { readonly name: string; readonly arguments?: string | null };
}

function decodeCall(call: Call, path: string, findings: Findings): Part {
  if ((call.type ?? 'function') !== 'function')
    return decodeCustomCall(call, path) ?? nativePart('chat', path, { tool_calls: [call] });
  collect(fields.call, call, path, findings);
  collect(fields.functionCall, call.function, `${path}.function`, findings);
  const { name, arguments: json } = call.function;
  return callOf(path, { id: call.id, name }, argumentsOf(json, `${path}.function.arguments`));
}

function decodeAssistant(message: Json, path: string, findings: Findings): readonly Part[] {
  collect(fields.message, message, path, findings);
  const reasoning = decodeReasoning(reasoningOf(message), `${path}.reasoning_content`);
  let parts: Part[] = [];
  const addReasoning = (calls: number, isLast: boolean) => {
    for (const { part, after } of reasoning) {
      if (after === calls || (isLast && after > calls)) parts.push(part);
    }
  };
  addReasoning(0, false);
  const { content, refusal } = message;
  if (content !== '') {
    for (const part of decodeContent(content, `${path}.content`, findings)) parts.push(part);
  }
  if (typeof refusal === 'string' && refusal !== '') {
    parts.push({ type: 'refusal', path: `${path}.refusal`, text: refusal });
  }
  const calls = (message['tool_calls'] ?? []) as readonly Call[];
  for (const [index, call] of calls.entries()) {
    parts.push(decodeCall(call, `${path}.tool_calls[${index}]`, findings));
    addReasoning(index + 1, index === calls.length - 1);
  }
  if (calls.length === 0 && reasoning.some(({ after }) => after > 0)) {
    parts = [...reasoning.flatMap(({ part, after }) => (after > 0 ? [part] : [])), ...parts];
  }
  return parts;
}

export function decodeTools(
  tools: readonly Json[],
  path: string,
  findings: Findings,
): readonly (Tool | NativePart)[] {
  return tools.map((tool, index) => {
    const toolPath = `${path}[${index}]`;
    if (tool['type'] !== 'function') return decodeCustomTool(tool, toolPath);
    collect(fields.functionTool, tool, toolPath, findings);
    const own = tool['function'] as Json;
    collect(fields.functionFields, own, `${toolPath}.function`, findings);
    return withMark(
      withMark(functionOf(toolPath, own), own, `${toolPath}.function`),
      tool,
      toolPath,
    );
  });
}

/** The parts of a message, the last with the mark of the message. */
function withMessageMark(parts: readonly Part[], message: Json, path: string): readonly Part[] {
  const last = parts.at(-1);
  if (last === undefined || !isCacheable(last)) return parts;
  const marked = withMark(last, message, path);
  return marked === last ? parts : [...parts.slice(0, -1), marked];
}

function isCacheable({ type }: Part): boolean {
  return type === 'text' || type === 'media' || type === 'tool-call';
}

function decodeResult(message: Json, path: string, findings: Findings): ToolResultPart {
  const content = decodeContent(message['content'], `${path}.content`, findings);
  const marks = content.flatMap((part) => ('cacheMark' in part ? (part.cacheMark ?? []) : []));
  const cacheMark = cacheMarkOf(message, path) ?? marks.at(-1);
  return {
    type: 'tool-result',
    path,
    callId: callIdFromWire(message['tool_call_id'] as string),
    content: content.map((part) =>
      part.type === 'refusal' ? { type: 'text', path: part.path, text: part.text } : part,
    ),
    isError: false,
    ...(cacheMark && { cacheMark }),
  };
}

/** The turns of a conversation. @param messages valid by their schema */
export function decodeTurns(messages: readonly Json[], findings: Findings): readonly Turn[] {
  const turns: Turn[] = [];
  /** Parts of the current turn of tool messages; null after any other message. */
  let results: Part[] | null = null;
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    const role = message['role'] as Turn['role'] | 'tool';
    if (role === 'tool') {
      collect(fields.prompt, message, path, findings);
      const result = decodeResult(message, path, findings);
      if (results === null) {
        results = [];
        turns.push({ role: 'user', path, parts: results, name: null, partial: false, tools: null });
      }
      results.push(result);
      continue;
    }
    results = null;
    const decoded =
      role === 'assistant'
        ? decodeAssistant(message, path, findings)
        : decodePrompt(message, path, findings);
    const parts = withMessageMark(decoded, message, path);
    const tools = role === 'assistant' || role === 'user' ? null : message['tools'];
    turns.push({
      role,
      path,
      parts,
      name: (message['name'] as string | null | undefined) ?? null,
      // DeepSeek and Mistral call it a prefix.
      partial: role === 'assistant' && (message['partial'] ?? message['prefix']) === true,
      tools:
        tools === null || tools === undefined
          ? null
          : decodeTools(tools as readonly Json[], `${path}.tools`, findings),
    });
  }
  return turns;
}

function decodePrompt(message: Json, path: string, findings: Findings): readonly Part[] {
  collect(fields.prompt, message, path, findings);
  const { content, tools } = message;
  if ((content === null || content === undefined) && !Array.isArray(tools)) {
    throw invalid(`${path}.content`, expected('a text or a list of parts', quoteValue(content)));
  }
  return decodeContent(content, `${path}.content`, findings);
}
