import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  parseDocument,
  type YAMLError,
} from 'yaml';
import type { Fault } from '../schema/faults.ts';
import type { Path } from '../schema/places.ts';
import { type Environment, interpolate } from './interpolate.ts';

/** A fault with the line that it stands on. */
export interface LineFault extends Fault {
  readonly line: number;
}

/** A file as plain values, with what is known of where each came from. */
export interface Document {
  readonly value: unknown;
  readonly faults: readonly LineFault[];
  /** The line of a place, or of the nearest place above that the file has. */
  line(path: Path): number;
  /** What the file says where variables were put in: `${NAME}`. Undefined elsewhere. */
  template(path: Path): string | undefined;
}

/** Deeper than any setting; yaml itself runs out of stack at some thousands. */
const MAX_DEPTH = 64;
/** Each is searched for from the start of the file. */
const MAX_ALIASES = 100;
/** Values in all, what aliases repeat included. */
const MAX_VALUES = 100_000;
/** Of a file that is no YAML at all; what follows the first few is noise. */
const MAX_SYNTAX_FAULTS = 10;

/** Names that JavaScript gives a meaning. */
const RESERVED = ['__proto__', 'constructor', 'prototype'];

const keyOf = (path: Path) => JSON.stringify(path);

/** Where a file is nested too deeply, told without recursion; null where it is not. */
function tooDeep(source: string): number | null {
  const parser = new Parser();
  for (const lexeme of new Lexer().lex(source)) {
    for (const _ of parser.next(lexeme));
    if (parser.stack.length > MAX_DEPTH) return parser.offset;
  }
  return null;
}

/** The library's words without what it quotes from the file, which may be secret. */
function sentence({ message }: YAMLError): string {
  const [said = ''] = message.split(/: "/, 1);
  return said.length > 120 ? `${said.slice(0, 117)}...` : said;
}

/** Reads YAML, and puts the environment into its texts once it is parsed. */
export function readDocument(source: string, env: Environment): Document {
  const lines = new Map<string, number>([[keyOf([]), 1]]);
  const templates = new Map<string, string>();
  const faults: LineFault[] = [];
  const counter = new LineCounter();

  const line = (path: Path): number =>
    lines.get(keyOf(path)) ?? (path.length === 0 ? 1 : line(path.slice(0, -1)));
  const document = (value: unknown): Document => ({
    value,
    faults,
    line,
    template: (path) => templates.get(keyOf(path)),
  });
  const wrong = (offset: number, message: string) => {
    const { line, col } = counter.linePos(offset);
    faults.push({ path: [], line, message: `column ${col}: ${message}` });
    return document({});
  };

  const deep = tooDeep(source);
  if (deep !== null) {
    // The counter learns of lines from a parser, and this file must not meet it.
    const before = source.slice(0, deep).split('\n');
    faults.push({ path: [], line: before.length, message: 'nested too deeply' });
    return document({});
  }
  const parsed = parseDocument(source, {
    schema: 'core',
    stringKeys: true,
    // Comparing each key with all others takes time by the square; names are compared below.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'silent',
    lineCounter: counter,
  });
  for (const error of [...parsed.errors, ...parsed.warnings].slice(0, MAX_SYNTAX_FAULTS)) {
    wrong(error.pos[0], sentence(error));
  }
  if (faults.length > 0) return document({});

  let aliases = 0;
  let values = 0;
  const fault = (path: Path, message: string) => {
    faults.push({ path, message, line: line(path) });
    return undefined;
  };

  const readText = (text: string, path: Path): string => {
    const { text: result, variables, missing, malformed } = interpolate(text, env);
    if (variables.length > 0) templates.set(keyOf(path), text);
    for (const name of missing) fault(path, `the environment variable ${name} is not set`);
    for (const piece of malformed) {
      fault(
        path,
        `expected \${NAME} or \${NAME:-default} at ${JSON.stringify(piece)}; $\${ stands for \${`,
      );
    }
    return result;
  };

  const resolve = (alias: Alias, path: Path): Node | undefined => {
    aliases += 1;
    if (aliases > MAX_ALIASES) return fault(path, `more than ${MAX_ALIASES} aliases`);
    return alias.resolve(parsed) ?? fault(path, `there is no anchor &${alias.source} before it`);
  };

  const read = (node: unknown, path: Path): unknown => {
    values += 1;
    if (values > MAX_VALUES || path.length > MAX_DEPTH) {
      if (values <= MAX_VALUES + 1 || path.length > MAX_DEPTH)
        fault(path, 'repeats itself too much');
      values = Number.POSITIVE_INFINITY;
      return undefined;
    }
    if (isAlias(node)) {
      const target = resolve(node, path);
      return target && read(target, path);
    }
    if (isScalar(node)) {
      return typeof node.value === 'string' ? readText(node.value, path) : node.value;
    }
    if (isSeq(node)) {
      return node.items.map((item, index) => {
        mark([...path, index], item);
        return read(item, [...path, index]);
      });
    }
    if (!isMap(node)) return null;
    const found: Record<string, unknown> = {};
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : '';
      const below = [...path, name];
      if (Object.hasOwn(found, name)) {
        const first = line(below);
        mark(below, key);
        fault(below, `given twice; first on line ${first}`);
        continue;
      }
      mark(below, key);
      if (RESERVED.includes(name)) fault(below, 'this name cannot be used');
      else found[name] = read(value, below);
    }
    return found;
  };

  const mark = (path: Path, node: unknown) => {
    const range = (node as Partial<Node> | null)?.range;
    if (range) lines.set(keyOf(path), counter.linePos(range[0]).line);
  };

  return document(read(parsed.contents, []));
}
