import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Grammar, Part, TextRequest, Tool, ToolCallPart } from '../canonical/canonical.ts';
import {
  type EmulatedAnswer,
  type RequestEmulation,
  type TakeEvent,
  withCalls,
} from './emulation.ts';

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
      turns: request.turns.map((turn) => withCalls(turn, asFunctionCall)),
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

function asFunctionCall(call: ToolCallPart): ToolCallPart {
  const { hasTextInput, ...own } = call;
  return hasTextInput ? { ...own, arguments: JSON.stringify({ input: call.arguments }) } : call;
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

/** How the arguments begin where the text is their first member. */
const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
/** A text that may become such a beginning. */
const PARTIAL_HEAD = /^\s*(\{\s*("(i(n(p(u(t("\s*(:\s*)?)?)?)?)?)?)?)?)?$/;
/** Longest beginning that is waited for: more is blanks without end. */
const MAX_HEAD = 1000;

const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/**
 * Reads the text `input` of streamed arguments as they arrive. Where the arguments are something else
 * it returns them as they are, so that the client's tool reports the mistake to the model.
 */
export class InputReader {
  /** The arguments so far, until their shape is known. */
  #head = '';
  #state: 'head' | 'text' | 'other' | 'done' = 'head';
  /** An escape sequence that is not complete. */
  #escape = '';

  /** Returns the text that a piece of the arguments adds. */
  push(json: string): string {
    switch (this.#state) {
      case 'text':
        return this.#read(json);
      case 'done':
        return '';
      case 'other':
        this.#head += json;
        return '';
      case 'head':
        return this.#begin(json);
    }
  }

  /** Returns the text that is left at the end of the arguments. */
  end(): string {
    if (this.#state === 'text' || this.#state === 'done') return '';
    const whole = tryParseJson(this.#head);
    if (isObject(whole) && typeof whole['input'] === 'string') return whole['input'];
    return isObject(whole) && Object.keys(whole).length === 0 ? '' : this.#head;
  }

  #begin(json: string): string {
    this.#head += json;
    const head = HEAD.exec(this.#head.slice(0, MAX_HEAD));
    if (head === null) {
      const isPartial = this.#head.length < MAX_HEAD && PARTIAL_HEAD.test(this.#head);
      if (!isPartial) this.#state = 'other';
      return '';
    }
    this.#state = 'text';
    const rest = this.#head.slice(head[0].length);
    this.#head = '';
    return this.#read(rest);
  }

  /** Reads a piece of the text up to its closing quote. */
  #read(json: string): string {
    let text = '';
    let index = 0;
    while (index < json.length) {
      if (this.#escape !== '') {
        this.#escape += json[index];
        index += 1;
        const character = unescaped(this.#escape);
        if (character === null) continue;
        text += character;
        this.#escape = '';
        continue;
      }
      const end = nextSpecial(json, index);
      text += json.slice(index, end);
      index = end + 1;
      if (json[end] === '\\') this.#escape = '\\';
      else if (json[end] === '"') {
        this.#state = 'done';
        break;
      }
    }
    return text;
  }
}

/** The position of the next quote or backslash; the length of the text for none. */
function nextSpecial(text: string, from: number): number {
  for (let index = from; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === 0x22 || code === 0x5c) return index;
  }
  return text.length;
}

/** The character of an escape sequence; null for one that is not complete. */
function unescaped(sequence: string): string | null {
  const kind = sequence[1]!;
  if (kind !== 'u') return ESCAPES[kind] ?? kind;
  if (sequence.length < 6) return null;
  const code = Number.parseInt(sequence.slice(2), 16);
  return Number.isNaN(code) ? sequence : String.fromCharCode(code);
}
