/**
 * Levels of lists and objects in one another. `JSON.parse` takes any number of them, but whatever
 * walks through a value by recursion, `JSON.stringify` first, would run out of stack.
 */
const MAX_DEPTH = 1000;

/**
 * Lists, objects and their members in one document. A long document is usually long by its texts and
 * parsed in no time; ten megabytes of empty lists take seconds and hundreds of megabytes.
 */
const MAX_VALUES = 200_000;

/** A limit that a document exceeds. */
export interface StructureFault {
  readonly code: 'nested_too_deep' | 'too_many_values';
  readonly message: string;
  /** The member of the top-level object in which it is exceeded; null where there is none. */
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
 * Checks the structure of JSON before it is parsed, in one pass over the text. Text that is not
 * valid JSON may pass: parsing will find out.
 */
export function structureFault(text: string): StructureFault | null {
  // Each level and each value takes a character at least.
  if (text.length <= MAX_DEPTH) return null;
  let depth = 0;
  let values = 0;
  /** Where the last string on the first level begins: at a fault, the name of a member. */
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

/** Where the quote is that ends a string; -1 where none does. */
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
 * Parses JSON from outside.
 *
 * @throws SyntaxError where it is not valid, or exceeds a limit of its structure
 */
export function parseJson(text: string): unknown {
  const fault = structureFault(text);
  if (fault) throw new SyntaxError(fault.message);
  return JSON.parse(text);
}

/** The same, with undefined instead of an error. */
export function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
