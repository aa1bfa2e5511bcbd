import type {
  DialectName,
  Json,
  NativePart,
  Part,
  ReasoningPart,
  TextRequest,
  Tool,
  ToolResultPart,
  Turn,
} from '../../canonical/canonical.ts';
import { markedPart } from '../cache-marks.ts';
import type { Target } from '../dialect.ts';
import { nativeValue } from '../native-parts.ts';
import { dialectNamed } from '../registry.ts';
import { refuseNative, refusePrefill, untranslatable } from '../request-errors.ts';
import { nameOnWire } from '../tool-names.ts';
import { encodeMedia } from './media.ts';
import { encodeReasoning } from './reasoning.ts';

type Message = Record<string, unknown>;

export function encodeTool(tool: Tool | NativePart): unknown {
  if (tool.type === 'native') return nativeValue(tool, 'chat', 'tool');
  const { name, description, parameters, strict } = tool;
  return {
    type: 'function',
    function: {
      name: nameOnWire(name),
      ...(description !== null && { description }),
      ...(parameters !== null && { parameters }),
      ...(strict !== null && { strict }),
    },
  };
}

/** A content part of a message. */
function encodePart(part: Part, from: DialectName): unknown {
  switch (part.type) {
    case 'text':
      return markedPart({ type: 'text', text: part.text }, part);
    case 'refusal':
      return { type: 'refusal', refusal: part.text };
    case 'media':
      return markedPart(encodeMedia(part, from), part);
    case 'native':
      return nativeValue(part, 'chat');
    case 'reasoning':
    case 'tool-call':
    case 'tool-result':
      throw untranslatable(part.path, 'chat');
  }
}

/** The content of a message: a plain text if it has no other part, since every upstream accepts that. */
function encodeContent(parts: readonly Part[], from: DialectName): unknown {
  const [only] = parts;
  if (parts.length === 0) return '';
  if (parts.length === 1 && only?.type === 'text' && !only.cacheMark?.isBreakpoint)
    return only.text;
  return parts.map((part) => encodePart(part, from));
}

/**
 * A tool result as a tool message, which has text only and no error flag: the text of a failed result
 * begins with "Error".
 */
function encodeResult({ callId, content, isError }: ToolResultPart): Message {
  const texts = content.flatMap((part) => {
    if (part.type === 'native') refuseNative(part, 'chat');
    return part.type === 'text' ? [part.text] : [];
  });
  const text = texts.join('\n');
  const needsPrefix = isError && !/^\s*error/i.test(text);
  return { role: 'tool', tool_call_id: callId, content: needsPrefix ? `Error: ${text}` : text };
}

/** Adjacent turns that are not the assistant's: tool results first, since they must follow their calls. */
function encodeClientSide(turns: readonly Turn[], request: TextRequest): Message[] {
  const results: Message[] = [];
  const resultMedia: unknown[] = [];
  const messages: Message[] = [];
  const from = request.dialect;
  for (const turn of turns) {
    const rest: Part[] = [];
    for (const part of turn.parts) {
      if (part.type !== 'tool-result') {
        rest.push(part);
        continue;
      }
      results.push(encodeResult(part));
      for (const inner of part.content) {
        if (inner.type === 'media') resultMedia.push(encodeMedia(inner, from));
      }
    }
    const hasResults = rest.length < turn.parts.length;
    if (rest.length === 0 && hasResults && turn.tools === null) continue;
    const name = turn.name !== null && { name: turn.name };
    const tools = turn.tools !== null && { tools: turn.tools.map(encodeTool) };
    const content = (rest.length > 0 || !tools) && { content: encodeContent(rest, from) };
    messages.push({ role: turn.role, ...content, ...name, ...tools });
  }
  // A tool message cannot have media, so that the media of results become a user message.
  if (resultMedia.length > 0) results.push({ role: 'user', content: resultMedia });
  return [...results, ...messages];
}

const isReasoning = (part: Part): part is ReasoningPart => part.type === 'reasoning';

/** Adjacent turns of the assistant as one message, so that all calls precede all results. */
function encodeAssistant(turns: readonly Turn[], from: DialectName, target: Target): Message[] {
  const parts = turns.flatMap((turn) => turn.parts);
  const content: Part[] = [];
  const calls: unknown[] = [];
  const natives: object[] = [];
  let refusal = '';
  for (const part of parts) {
    if (part.type === 'text' && part.text === '') continue;
    if (part.type === 'tool-call') {
      const { id, name } = part;
      calls.push({
        id,
        type: 'function',
        function: { name: nameOnWire(name), arguments: part.arguments },
      });
    } else if (part.type === 'refusal') {
      refusal += part.text;
    } else if (part.type === 'native') {
      natives.push(nativeValue(part, 'chat') as object);
    } else if (part.type !== 'reasoning') {
      if (part.type !== 'text') throw untranslatable(part.path, 'chat');
      content.push(part);
    }
  }
  const reasoning = encodeReasoning(parts.filter(isReasoning), target);
  const isEmpty = content.length === 0 && refusal === '' && natives.length === 0;
  if (isEmpty && calls.length === 0 && Object.keys(reasoning).length === 0) return [];
  const name = turns.findLast((turn) => turn.name !== null)?.name;
  return [
    {
      role: 'assistant',
      content:
        content.length === 0 && (calls.length > 0 || refusal !== '')
          ? null
          : encodeContent(content, from),
      ...(name != null && { name }),
      ...(refusal !== '' && { refusal }),
      ...reasoning,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...Object.assign({}, ...natives),
      ...(turns.at(-1)?.partial === true && { partial: true }),
    },
  ];
}

/** The messages for the conversation of a client of another dialect. */
export function encodeTurns(request: TextRequest, target: Target): readonly Message[] {
  const messages: Message[] = [];
  const { turns, dialect } = request;
  for (let start = 0, end = 0; start < turns.length; start = end) {
    const isAssistant = turns[start]!.role === 'assistant';
    while (end < turns.length && (turns[end]!.role === 'assistant') === isAssistant) end += 1;
    const run = turns.slice(start, end);
    messages.push(
      ...(isAssistant ? encodeAssistant(run, dialect, target) : encodeClientSide(run, request)),
    );
  }
  markPrefill(messages, request, target);
  return messages;
}

/**
 * Marks a prefill, which is a last turn of the assistant in some dialects, as a partial message.
 *
 * @throws Failure if the model does not support partial messages
 */
function markPrefill(messages: Message[], request: TextRequest, target: Target): void {
  const { dialect, turns } = request;
  const last = turns.at(-1);
  const message = messages.at(-1);
  if (last?.role !== 'assistant' || message?.['role'] !== 'assistant') return;
  if (!dialectNamed(dialect).prefillsAnswer && !last.partial) return;
  if (target.rules !== 'fixed-reasoning') refusePrefill(request, 'chat');
  message['partial'] = true;
}

/**
 * The messages of a chat client: unchanged but for tool names that providers refuse and reasoning of
 * other providers.
 */
export function reencodeMessages({ body, turns }: TextRequest, target: Target): readonly Json[] {
  const assistants = turns.filter(({ role }) => role === 'assistant').values();
  return (body['messages'] as readonly Json[]).map((message) => {
    if (Array.isArray(message['tools'])) {
      return { ...message, tools: message['tools'].map(reencodeNamed) };
    }
    if (message['role'] !== 'assistant') return message;
    const { reasoning, reasoning_content, reasoning_details, ...rest } = message;
    const parts = assistants.next().value?.parts ?? [];
    const calls = message['tool_calls'];
    return {
      ...rest,
      ...encodeReasoning(parts.filter(isReasoning), target),
      ...(Array.isArray(calls) && { tool_calls: calls.map(reencodeNamed) }),
    };
  });
}

/** A tool, a tool call or a tool choice with the tool's name for the provider. */
export function reencodeNamed<Named extends Json>(named: Named): Named {
  const own = named['function'] as Json | undefined;
  if ((named['type'] ?? 'function') !== 'function' || own === undefined) return named;
  return { ...named, function: { ...own, name: nameOnWire(own['name'] as string) } };
}
