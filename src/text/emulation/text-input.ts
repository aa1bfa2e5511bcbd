import type { Grammar, Part, TextRequest, Tool, Turn } from '../canonical/canonical.ts';
import type { EmulatedAnswer, RequestEmulation, TakeEvent } from './emulation.ts';
import { InputReader } from './input-reader.ts';

/** Tools whose input is free text: functions with one argument, which is the text. */
export function emulateTextInput(request: TextRequest): RequestEmulation | null {
  const isInHistory = request.turns.some(({ parts }) => parts.some(isTextCall));
  const tools = request.tools.filter((tool): tool is Tool => tool.type === 'tool');
  const own = tools.filter(({ textInput }) => textInput);
  if (own.length === 0 && !isInHistory) return null;
  const names = new Set(own.map(({ name }) => name));
  return {
    request: {
      ...request,
      tools: request.tools.map((tool) => (tool.type === 'tool' ? asFunction(tool) : tool)),
      turns: request.turns.map(withFunctionCalls),
    },
    filter: (answer) => textInputFilter(names, answer),
    ignored: own.flatMap(({ textInput }) => textInput?.grammar?.path ?? []),
  };
}

function asFunction({ textInput, ...tool }: Tool): Tool {
  if (!textInput) return tool;
  const { grammar } = textInput;
  const description = grammar === null ? 'The input of the tool.' : describe(grammar);
  return {
    ...tool,
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}

/** The upstream is not forced to follow the grammar: the client's tool has to check its input. */
function describe({ syntax, definition }: Grammar): string {
  return `The input of the tool, as plain text that this ${syntax} grammar accepts:\n${definition}`;
}

function isTextCall(part: Part): boolean {
  return part.type === 'tool-call' && part.hasTextInput === true;
}

function withFunctionCalls(turn: Turn): Turn {
  if (!turn.parts.some(isTextCall)) return turn;
  const parts = turn.parts.map((part) => {
    if (part.type !== 'tool-call' || !part.hasTextInput) return part;
    const { hasTextInput: _, ...call } = part;
    return { ...call, arguments: JSON.stringify({ input: part.arguments }) };
  });
  return { ...turn, parts };
}

/** Turns calls of the functions back into calls with text input. */
function textInputFilter(names: ReadonlySet<string>, { emit }: EmulatedAnswer): TakeEvent {
  /** Reads the arguments of the open call; null for other calls. */
  let reader: InputReader | null = null;
  const input = (block: number, text: string) => {
    if (text !== '') emit({ type: 'tool-delta', block, json: text });
  };
  return (event) => {
    if (event.type === 'tool-start') {
      const isOwn = names.has(event.name);
      reader = isOwn ? new InputReader() : null;
      emit(isOwn ? { ...event, hasTextInput: true } : event);
    } else if (reader !== null && event.type === 'tool-delta') {
      input(event.block, reader.push(event.json));
    } else {
      if (reader !== null && event.type === 'tool-end') {
        input(event.block, reader.end());
        reader = null;
      }
      emit(event);
    }
  };
}
