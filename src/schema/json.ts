import { valueOr } from '../flow.ts';

/**
 * Levels of nesting. `JSON.parse` accepts any number of them, but recursive code, `JSON.stringify`
 * first, would overflow the stack.
 */
const MAX_DEPTH = 1000;

/**
 * Cost of all values in one document. Ten megabytes of long texts parse at once; ten megabytes of empty
 * lists take seconds and hundreds of megabytes. 250,000 numbers, 30,000 short messages or 18,000 different names
 * take up to 50 ms.
 */
const MAX_COST = 250_000;

/** Costs of a value or member, and what a list or object, a text, and a name that is new add. */
const COST = { value: 1, container: 2, text: 1, newName: 10 } as const;

/** The member that has the arguments of a tool call as JSON in chat completions and responses. */
const ARGUMENTS = 'arguments';

/** A limit of the structure that a document exceeds. */
export interface StructureFault {
  readonly code: 'nested_too_deep' | 'too_many_values';
  readonly message: string;
  /** Name of the top-level member that exceeds the limit; null if it has no name. */
  readonly member: string | null;
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const BLANK = 32;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Checks the structure of JSON before it is parsed. @param maxCost of all its values */
export function structureFault(text: string, maxCost = MAX_COST): StructureFault | null {
  return structureOf(text, maxCost).fault;
}

/**
 * The cost of all values of JSON that is not parsed yet, up to the first fault, in one pass over the text. Invalid
 * JSON may pass, because parsing reports it.
 */
export function structureOf(
  text: string,
  maxCost = MAX_COST,
): { readonly cost: number; readonly fault: StructureFault | null } {
  // Each level and each value takes at least one character.
  if (text.length <= MAX_DEPTH) return { cost: 0, fault: null };
  let depth = 0;
  let cost = 0;
  /** Whether the last name was that of a text that is JSON itself. */
  let isArguments = false;
  /** Objects share one layout if their names are known, and else take ten times as long. */
  const names = new Set<string>();
  /** Index of the last string on the first level, which is the name of the current member. */
  let name = -1;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (end === -1) return { cost, fault: null };
        if (depth === 1) name = at;
        cost += COST.text;
        if (isBeforeColon(text, end)) {
          const member = text.slice(at + 1, end);
          const known = names.size;
          if (names.add(member).size > known) cost += COST.newName;
          // A name with an escape may be any.
          isArguments = member === ARGUMENTS || member.includes('\\');
        } else if (isArguments) {
          cost += signsIn(text, at, end) * COST.value;
          isArguments = false;
        }
        at = end;
        break;
      }
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        cost += COST.container;
        if (depth > MAX_DEPTH) {
          const message = `nested over ${MAX_DEPTH} levels deep`;
          const member = memberAt(text, name);
          return { cost, fault: { code: 'nested_too_deep', message, member } };
        }
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        cost += COST.value;
    }
    if (cost > maxCost) {
      const message = 'too many lists, objects, members and texts';
      const member = memberAt(text, name);
      return { cost, fault: { code: 'too_many_values', message, member } };
    }
  }
  return { cost, fault: null };
}

/** Index of the quote that ends a string; -1 if none does. */
function endOfString(text: string, start: number): number {
  const end = text.indexOf('"', start + 1);
  if (end === -1 || text.charCodeAt(end - 1) !== BACKSLASH) return end;
  // Many calls of `indexOf` would take four times as long as this loop.
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  return -1;
}

/** Number of commas and quotes. */
function signsIn(text: string, start: number, end: number): number {
  let signs = 0;
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === QUOTE) signs += 1;
  }
  return signs;
}

/** Whether a string that ends at an index is the name of a member. */
function isBeforeColon(text: string, end: number): boolean {
  let next = end + 1;
  while (text.charCodeAt(next) <= BLANK) next += 1;
  return text.charCodeAt(next) === COLON;
}

function memberAt(text: string, start: number): string | null {
  if (start === -1 || !/^\s*\{/.test(text.slice(0, 100))) return null;
  return valueOr(() => JSON.parse(text.slice(start, endOfString(text, start) + 1)) as string, null);
}

/**
 * Parses untrusted JSON.
 *
 * @throws SyntaxError if it is invalid or exceeds a limit of its structure
 */
export function parseJson(text: string, maxCost?: number): unknown {
  const fault = structureFault(text, maxCost);
  if (fault) throw new SyntaxError(fault.message);
  return JSON.parse(text);
}

/** Parses untrusted JSON; undefined if it is invalid or exceeds a limit of its structure. */
export function tryParseJson(text: string, maxCost?: number): unknown {
  return valueOr(() => parseJson(text, maxCost), undefined);
}

/** A type whose properties are readonly at every depth. */
export type DeepReadonly<Value> = Value extends object
  ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
  : Value;
