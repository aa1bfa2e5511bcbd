import { isDeepStrictEqual } from 'node:util';
import * as yaml from 'yaml';
import { invalidConfig } from '../yaml/invalid.ts';

/** Lines are not wrapped; flow collections are written as `{ a: [b] }`. */
const FORMAT = { lineWidth: 0 } as const;

/** Parses a valid configuration for changes. yaml compares each key with all others to find duplicates. */
export function parseForEdit(source: string): yaml.Document {
  return yaml.parseDocument(source, { schema: 'core', stringKeys: true, uniqueKeys: false });
}

/** The text of a changed configuration. Comments stay. */
export const textOf = (document: yaml.Document): string => document.toString(FORMAT);

/** The map of models of a file, which is added where there is none. */
export function modelsIn(document: yaml.Document, label: string): yaml.YAMLMap {
  const found = document.get('models', true) as unknown;
  if (yaml.isMap(found)) {
    if (found.items.length === 0) found.flow = false;
    return found;
  }
  if (yaml.isAlias(found)) {
    throw invalidConfig(`${label}: models: a YAML alias, which cannot be changed here`);
  }
  const made = document.createNode({});
  document.set('models', made);
  return made;
}

/** All names that the catalog of a file has: identifiers, and aliases with the identifier of their model. */
export function namesIn(models: unknown): Map<string, string> {
  const names = new Map<string, string>();
  if (!yaml.isMap(models)) return names;
  for (const { key, value } of models.items) {
    const id = String(yaml.isScalar(key) ? key.value : key);
    names.set(id, id);
    const aliases: unknown = yaml.isMap(value) ? value.toJSON()?.aliases : undefined;
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
  document: yaml.Document,
  added: readonly (readonly [id: string, node: yaml.Node])[],
): string {
  const { contents } = parseForEdit(source);
  const models = yaml.isMap(contents) ? contents.get('models', true) : null;
  const last = yaml.isMap(models) && models.flow !== true ? models.items.at(-1) : undefined;
  const [first] = yaml.isMap(models) ? models.items : [];
  const range = yaml.isNode(last?.value) ? last.value.range : null;
  if (added.length === 0) return source;
  if (range && yaml.isNode(first?.key) && first.key.range) {
    const [keyStart] = first.key.range;
    const indent = ' '.repeat(keyStart - (source.lastIndexOf('\n', keyStart - 1) + 1));
    const contentEnd = source.slice(0, range[1]).trimEnd().length;
    const lineEnd = source.indexOf('\n', contentEnd);
    const before = lineEnd === -1 ? `${source}\n` : source.slice(0, lineEnd + 1);
    const after = lineEnd === -1 ? '' : source.slice(lineEnd + 1);
    const block = yaml.stringify(new Map(added), FORMAT).replace(/^(?=.)/gm, indent);
    const changed = before + block + after;
    const parsed = parseForEdit(changed);
    if (parsed.errors.length === 0 && isDeepStrictEqual(contentsOf(parsed), contentsOf(document))) {
      return changed;
    }
  }
  return textOf(document);
}

const contentsOf = (document: yaml.Document): unknown => document.toJS({ maxAliasCount: 100 });
