import type { GenericSchema } from 'valibot';
import * as yaml from 'yaml';
import { type Fault, formatPath } from '../../schema/faults.ts';
import { describeField, fromText } from '../../schema/fields.ts';
import { named } from '../../schema/invalid.ts';
import { type Path, valueAt, walk } from '../../schema/walk.ts';
import { type Environment, interpolate } from './interpolate.ts';

/** A fault with its line in the file. */
export interface LineFault extends Fault {
  readonly line: number;
  /** The environment variable that is not set, if that is the fault. */
  readonly variable?: string;
}

/** A file as plain values, with the line and the environment variables of each. */
export interface Document {
  readonly value: unknown;
  readonly faults: readonly LineFault[];
  /** The line of a path, or of its nearest parent in the file. */
  line(path: Path): number;
  /** Names of the environment variables in the text at a path. */
  variables(path: Path): readonly string[];
}

/** Levels of nesting: more than any setting has; yaml overflows the stack at some thousands. */
const MAX_DEPTH = 64;
/** yaml searches the anchor of each alias from the start of the file. */
const MAX_ALIASES = 100;
/** Values in all, including those that aliases repeat. */
const MAX_VALUES = 100_000;
/** Reported syntax faults: in a file that is no YAML, further ones say nothing new. */
const MAX_SYNTAX_FAULTS = 10;

/** Names with a meaning in JavaScript objects. */
const RESERVED = ['__proto__', 'constructor', 'prototype'];

type ParsedDocument = yaml.Document.Parsed;
type SyntaxFault = { readonly message: string; readonly pos: readonly number[] };

const keyOf = (path: Path) => JSON.stringify(path);

/** The tokens of a file, found without recursion; a message if it is nested too deeply or has too many. */
function tokensOf(source: string, parser: yaml.Parser, maxTokens: number) {
  const tokens: yaml.CST.Token[] = [];
  let count = 0;
  for (const lexeme of new yaml.Lexer().lex(source)) {
    count += 1;
    if (count > maxTokens) return 'too many values, signs and lines from here on';
    for (const token of parser.next(lexeme)) tokens.push(token);
    if (parser.stack.length > MAX_DEPTH) return 'nested too deeply';
  }
  return tokens.concat(...parser.end());
}

/** The library's message without its quotation of the file, which may be secret. */
function withoutQuotation({ message }: SyntaxFault): string {
  const [text = ''] = message.split(/(?<=\w): | \\/, 1);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/** Converts nodes to plain values, and records their lines, variables and faults. */
class Reader implements Document {
  value: unknown;
  readonly faults: LineFault[] = [];
  readonly #env: Environment;
  readonly #counter: yaml.LineCounter;
  readonly #lines = new Map<string, number>();
  readonly #variables = new Map<string, readonly string[]>();
  #parsed: ParsedDocument | undefined;
  readonly #maxValues: number;
  #aliases = 0;
  #values = 0;

  constructor(env: Environment, counter: yaml.LineCounter, maxValues = MAX_VALUES) {
    this.#env = env;
    this.#counter = counter;
    this.#maxValues = maxValues;
  }

  line(path: Path): number {
    const line = this.#lines.get(keyOf(path));
    return line ?? (path.length === 0 ? 1 : this.line(path.slice(0, -1)));
  }

  variables(path: Path): readonly string[] {
    return this.#variables.get(keyOf(path)) ?? [];
  }

  readAll(parsed: ParsedDocument): void {
    this.#parsed = parsed;
    this.value = this.#read(parsed.contents, []);
  }

  #mark(path: Path, node: unknown): void {
    const range = (node as Partial<yaml.Node> | null)?.range;
    if (range) this.#lines.set(keyOf(path), this.#counter.linePos(range[0]).line);
  }

  #fault(path: Path, message: string, details: Pick<LineFault, 'variable'> = {}): undefined {
    this.faults.push({ path, message, line: this.line(path), ...details });
  }

  #read(node: unknown, path: Path): unknown {
    this.#values += 1;
    if (path.length > MAX_DEPTH || this.#values > this.#maxValues) {
      // Reported once, after which nothing more is read.
      if (this.#values !== Number.POSITIVE_INFINITY)
        this.#fault(path, 'aliases repeat too many values');
      this.#values = Number.POSITIVE_INFINITY;
      return undefined;
    }
    if (yaml.isAlias(node)) return this.#readAlias(node, path);
    if (yaml.isScalar(node) && typeof node.value === 'string')
      return this.#readText(node.value, path);
    if (node === null || (yaml.isScalar(node) && !(node.value instanceof Object))) {
      return node?.value ?? null;
    }
    if (yaml.isSeq(node)) {
      return node.items.map((item, index) => {
        this.#mark([...path, index], item);
        return this.#read(item, [...path, index]);
      });
    }
    if (yaml.isMap(node)) return this.#readMap(node, path);
    // Tags turn texts into bytes, dates and other types.
    return this.#fault(path, 'expected a value without a tag');
  }

  #readAlias(alias: yaml.Alias, path: Path): unknown {
    this.#aliases += 1;
    if (this.#aliases > MAX_ALIASES) {
      return this.#aliases === MAX_ALIASES + 1
        ? this.#fault(path, `more than ${MAX_ALIASES} aliases`)
        : undefined;
    }
    const target = alias.resolve(this.#parsed!);
    if (target === undefined) {
      return this.#fault(path, 'there is no anchor of this name before it');
    }
    return this.#read(target, path);
  }

  #readText(text: string, path: Path): string {
    const interpolated = interpolate(text, this.#env);
    if (interpolated.variables.length > 0) this.#variables.set(keyOf(path), interpolated.variables);
    for (const name of interpolated.missing) {
      this.#fault(path, `the environment variable ${name} is not set`, { variable: name });
    }
    if (interpolated.malformed) {
      this.#fault(path, `expected \${NAME} or \${NAME:-default}; for \${ itself write $\${`);
    }
    return interpolated.text;
  }

  #readMap(map: yaml.YAMLMap, path: Path): Readonly<Record<string, unknown>> {
    const values: Record<string, unknown> = {};
    for (const { key, value } of map.items) {
      const name = yaml.isScalar(key) ? String(key.value) : '';
      const below = [...path, name];
      const firstLine = Object.hasOwn(values, name) ? this.line(below) : null;
      this.#mark(below, key);
      if (firstLine !== null) this.#fault(below, `given twice; first on line ${firstLine}`);
      else if (RESERVED.includes(name)) this.#fault(below, 'this name cannot be used');
      else values[name] = this.#read(value, below);
    }
    return values;
  }
}

/** The messages of faults with the file and their lines, from the first line to the last. */
export function faultLines(
  file: string,
  faults: readonly Fault[],
  document: Document,
  most: number,
): readonly string[] {
  const lines = faults
    .map((fault) => ({
      ...fault,
      line: 'line' in fault ? Number(fault.line) : document.line(fault.path),
    }))
    .sort((a, b) => a.line - b.line)
    .map(
      ({ path, message, line }) =>
        `${file}:${line}: ${path.length > 0 ? named(formatPath(path), message) : message}`,
    );
  const more = lines.length - most;
  return more > 0 ? [...lines.slice(0, most), `and ${more} more`] : lines;
}

/**
 * Parses YAML, and then replaces environment variables in its texts.
 *
 * @param env the variables, or a function that makes them from the values of the file before they are replaced
 * @param maxTokens values, signs, spaces and line ends: the time of parsing grows with them
 */
export function readDocument(
  source: string,
  env: Environment | ((value: unknown) => Environment),
  maxTokens = Number.POSITIVE_INFINITY,
): Document {
  const counter = new yaml.LineCounter();
  counter.addNewLine(0);
  const parser = new yaml.Parser(counter.addNewLine);
  const tokens = tokensOf(source, parser, maxTokens);
  if (typeof tokens === 'string') {
    const reader = new Reader({}, counter);
    const { line } = counter.linePos(parser.offset);
    reader.faults.push({ path: [], line, message: tokens });
    return reader;
  }
  const composer = new yaml.Composer({
    schema: 'core',
    stringKeys: true,
    // yaml compares each key with all others, in quadratic time; #readMap finds duplicates itself.
    uniqueKeys: false,
  });
  const [parsed, second] = composer.compose(tokens, true, source.length);
  const errors: SyntaxFault[] = [...parsed!.errors, ...parsed!.warnings];
  if (second) errors.push({ pos: second.range, message: 'Source contains multiple documents' });
  const valuesOf = (variables: Environment) => {
    // Aliases must not repeat more values than the source may have tokens.
    const reader = new Reader(variables, counter, Math.min(maxTokens, MAX_VALUES));
    if (errors.length === 0) reader.readAll(parsed!);
    return reader;
  };
  const reader = valuesOf(typeof env === 'function' ? env(valuesOf({}).value) : env);
  for (const error of errors.slice(0, MAX_SYNTAX_FAULTS)) {
    const { line, col } = counter.linePos(error.pos[0]!);
    reader.faults.push({ path: [], line, message: `column ${col}: ${withoutQuotation(error)}` });
  }
  return reader;
}

/** Converts texts with environment variables to the types of a schema. */
export function coerceVariables(schema: GenericSchema, value: unknown, document: Document): void {
  for (const { path, value: text, schema: own } of walk(schema, value)) {
    if (own === undefined || typeof text !== 'string') continue;
    if (document.variables(path).length === 0) continue;
    const parent = valueAt(value, path.slice(0, -1)) as Record<string | number, unknown>;
    parent[path.at(-1)!] = fromText(describeField('', own), text);
  }
}
