import type { Json, NativePart, Part, TextRequest, Turn } from '../canonical.ts';
import { invalid } from '../refusals.ts';
import { checkedBody } from '../request-body.ts';
import { partOf, toolOf } from './blocks.ts';
import { knobsOf, remainderOf } from './knobs.ts';
import { type Message, type MessagesRequest, messagesRequest } from './request.ts';

/** @throws Failure invalid_request, `param` naming the field by its path */
export function decodeRequest(value: unknown): TextRequest {
  const body: MessagesRequest = checkedBody(messagesRequest, value);
  const { thread } = body;
  if (thread !== undefined && thread !== null) {
    throw invalid('thread', 'not supported; send the whole conversation in messages');
  }
  const { native, advice: topAdvice } = remainderOf(body);
  const advice = [...topAdvice];
  const turns: Turn[] = [];
  if (body.system) {
    const parts = partsOf(body.system, 'system', advice);
    if (parts.length > 0) turns.push(turn('system', 'system', parts, false));
  }
  const foreign: NativePart[] = [];
  const last = body.messages.length - 1;
  for (const [index, message] of body.messages.entries()) {
    const path = `messages[${index}]`;
    const { role, content } = message;
    const parts = partsOf(content as string | readonly Json[], `${path}.content`, advice);
    // Anthropic goes on where a last message of the assistant stops.
    const partial = role === 'assistant' && index === last && parts.at(-1)?.type === 'text';
    turns.push(turn(role, path, parts, partial));
    for (const part of unknownOf(message, path)) foreign.push(part);
  }
  // A spread of this many properties takes ten times as long.
  return Object.assign(knobsOf(body), {
    dialect: 'messages' as const,
    body: body as Json,
    model: body.model,
    stream: body.stream === true,
    includeUsage: true,
    turns,
    tools: (body.tools ?? []).map((tool, index) => toolOf(tool as Json, `tools[${index}]`, advice)),
    native: foreign.length > 0 ? [...native, ...foreign] : native,
    advice,
  });
}

function turn(role: Turn['role'], path: string, parts: readonly Part[], partial: boolean): Turn {
  return { role, path, parts, partial, name: null, tools: null };
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

function unknownOf(message: Message, path: string): NativePart[] {
  const found: NativePart[] = [];
  for (const key in message) {
    if (key === 'role' || key === 'content' || message[key] === null) continue;
    found.push({
      type: 'native',
      dialect: 'messages',
      path: `${path}.${key}`,
      value: message[key],
    });
  }
  return found;
}
