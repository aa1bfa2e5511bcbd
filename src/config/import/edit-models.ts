import { isDeepStrictEqual } from 'node:util';
import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  type Node,
  parseDocument,
  stringify,
  type YAMLMap,
} from 'yaml';
import { invalidConfig } from '../yaml/invalid.ts';

/** Lines are not wrapped; flow collections are written as `{ a: [b] }`. */
const FORMAT = { lineWidth: 0 } as const;

/** Parses a valid configuration for changes. yaml compares each key with all others to find duplicates. */
export function parseForEdit(source: string): Document {
  return parseDocument(source, { schema: 'core', stringKeys: true, uniqueKeys: false });
}

/** The text of a changed configuration. Comments stay. */
export function textOf(document: Document): string {
  return document.toString(FORMAT);
}

/** The map of models of a file, which is added where there is none. */
export function modelsIn(document: Document, label: string): YAMLMap {
  const found = document.get('models', true) as unknown;
  if (isMap(found)) {
    if (found.items.length === 0) found.flow = false;
    return found;
  }
  if (isAlias(found)) {
    throw invalidConfig(`${label}: models: a YAML alias, which cannot be changed here`);
  }
  const made = document.createNode({});
  document.set('models', made);
  return made;
}

/** All names that the catalog of a file has: identifiers, and aliases with the identifier of their model. */
export function namesIn(models: unknown): Map<string, string> {
  const names = new Map<string, string>();
  if (!isMap(models)) return names;
  for (const { key, value } of models.items) {
    const id = String(isScalar(key) ? key.value : key);
    names.set(id, id);
    const aliases: unknown = isMap(value) ? value.toJSON()?.aliases : undefined;
    for (const alias of Array.isArray(aliases) ? aliases : []) names.set(String(alias), id);
  }
  return names;
}

/**
 * Adds models as text after the last one, so that all other lines stay as they are. Where that would
 * not be the same as the changed document, that is written anew, with its comments.
 */
export function withAdded(
  source: string,
  document: Document,
  added: readonly (readonly [id: string, node: Node])[],
): string {
  const { contents } = parseForEdit(source);
  const models = isMap(contents) ? contents.get('models', true) : null;
  const last = isMap(models) && models.flow !== true ? models.items.at(-1) : undefined;
  const [first] = isMap(models) ? models.items : [];
  const range = isNode(last?.value) ? last.value.range : null;
  if (added.length === 0) return source;
  if (range && isNode(first?.key) && first.key.range) {
    const [keyStart] = first.key.range;
    const indent = ' '.repeat(keyStart - (source.lastIndexOf('\n', keyStart - 1) + 1));
    const contentEnd = source.slice(0, range[1]).trimEnd().length;
    const lineEnd = source.indexOf('\n', contentEnd);
    const before = lineEnd === -1 ? `${source}\n` : source.slice(0, lineEnd + 1);
    const after = lineEnd === -1 ? '' : source.slice(lineEnd + 1);
    const block = stringify(new Map(added), FORMAT).replace(/^(?=.)/gm, indent);
    const changed = before + block + after;
    const parsed = parseForEdit(changed);
    if (parsed.errors.length === 0 && isDeepStrictEqual(contentsOf(parsed), contentsOf(document))) {
      return changed;
    }
  }
  return textOf(document);
}

function contentsOf(document: Document): unknown {
  return document.toJS({ maxAliasCount: 100 });
}
