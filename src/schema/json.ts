/**
 * Levels of nesting. `JSON.parse` accepts any number of them, but recursive code, `JSON.stringify`
 * first, would overflow the stack.
 */
const MAX_DEPTH = 1000;

/**
 * Lists, objects and members in one document. Ten megabytes of long texts parse at once; ten megabytes
 * of empty lists take seconds and hundreds of megabytes.
 */
const MAX_VALUES = 200_000;

/** A limit of the structure that a document exceeds. */
export interface StructureFault {
  readonly code: 'nested_too_deep' | 'too_many_values';
  readonly message: string;
  /** Name of the top-level member that exceeds the limit; null if it has no name. */
  readonly member: string | null;
}

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/**
 * Checks the structure of JSON before it is parsed, in one pass over the text. Invalid JSON may pass,
 * because parsing reports it.
 */
export function structureFault(text: string): StructureFault | null {
  // Each level and each value takes at least one character.
  if (text.length <= MAX_DEPTH) return null;
  let depth = 0;
  let values = 0;
  /** Index of the last string on the first level, which is the name of the current member. */
  let name = -1;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = endOfString(text, at);
        if (end === -1) return null;
        if (depth === 1) name = at;
        at = end;
        break;
      }
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        values += 1;
        if (depth > MAX_DEPTH) {
          const message = `nested over ${MAX_DEPTH} levels deep`;
          return { code: 'nested_too_deep', message, member: memberAt(text, name) };
        }
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
    }
    if (values > MAX_VALUES) {
      const message = `more than ${MAX_VALUES} lists, objects and members`;
      return { code: 'too_many_values', message, member: memberAt(text, name) };
    }
  }
  return null;
}

/** Index of the quote that ends a string; -1 if none does. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before -= 1;
    // An even number of backslashes escapes only itself.
    if ((end - before) % 2 === 1) return end;
  }
  return -1;
}

function memberAt(text: string, start: number): string | null {
  if (start === -1 || !/^\s*\{/.test(text.slice(0, 100))) return null;
  try {
    return JSON.parse(text.slice(start, endOfString(text, start) + 1)) as string;
  } catch {
    return null;
  }
}

/**
 * Parses untrusted JSON.
 *
 * @throws SyntaxError if it is invalid or exceeds a limit of its structure
 */
export function parseJson(text: string): unknown {
  const fault = structureFault(text);
  if (fault) throw new SyntaxError(fault.message);
  return JSON.parse(text);
}

/** Parses untrusted JSON; undefined if it is invalid or exceeds a limit of its structure. */
export function tryParseJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
