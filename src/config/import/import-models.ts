import { isDeepStrictEqual } from 'node:util';
import { is } from 'valibot';
import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';
import { Failure } from '../../failure.ts';
import { matchesPattern } from '../../schema/pattern.ts';
import { modelIdentifier } from '../fields/text.ts';
import { findProviderKind } from '../providers/provider-kinds.ts';
import { invalidConfig } from '../yaml/invalid.ts';
import { modelsIn, namesIn, parseForEdit, textOf, withAdded } from './edit-models.ts';
import { convertEntry, type MappedModel } from './map-entry.ts';
import type { MapEntry } from './price-map.ts';

/** What the price map changes in the settings of a model. */
export interface ImportedModel {
  readonly id: string;
  /** The provider's name of the model. */
  readonly upstream: string;
  readonly action: 'add' | 'update' | 'same' | 'keep';
  readonly settings: MappedModel;
  /** Settings that differ from the map, as `price.input 1 -> 2`. */
  readonly changes: readonly string[];
  readonly notes: readonly string[];
}

export type ImportPlan = ReturnType<typeof planImport>;

export interface ImportOptions {
  /** The name of a provider of the configuration; undefined for the only one. */
  readonly provider?: string | undefined;
  /** The map's name of the provider; undefined for the name or the kind of the configured one. */
  readonly from?: string | undefined;
  /** Pattern of names in the map or identifiers. */
  readonly models?: string | undefined;
  readonly creditsPerUnit: number;
  /** Whether settings of existing models are changed. */
  readonly update: boolean;
}

/** Faults that a message lists. */
const MAX_FAULTS = 20;

function invalid(message: string, param?: string): Failure {
  return new Failure('invalid_request', message, param === undefined ? {} : { param });
}

type Target = Readonly<ReturnType<typeof targetOf>>;

/** The provider of the configuration that imported models are of. */
function targetOf(document: Document, label: string, { provider }: ImportOptions) {
  const providers = (document.toJS({ maxAliasCount: 100 }) as { providers?: unknown } | null)
    ?.providers as unknown;
  const known = new Map(
    Object.entries((providers ?? {}) as Record<string, { kind?: unknown } | null>).flatMap(
      ([name, settings]) => {
        const kind = String(settings?.kind);
        return findProviderKind(kind)?.modelTypes.includes('text') ? [[name, kind] as const] : [];
      },
    ),
  );
  const names = [...known.keys()];
  if (names.length === 0) throw invalid(`${label}: add the provider of the models first`);
  const name = provider ?? (names.length === 1 ? names[0]! : undefined);
  if (name === undefined) {
    throw invalid(`--provider is required: one of ${names.join(', ')}`, 'provider');
  }
  const kind = known.get(name);
  if (kind !== undefined) return { name, kind, types: findProviderKind(kind)!.modelTypes };
  const received = JSON.stringify(name);
  throw invalid(
    `--provider: expected one of ${names.join(', ')}, received ${received}`,
    'provider',
  );
}

/** The entries of one provider of the map. */
function entriesFrom(
  entries: readonly MapEntry[],
  target: Target,
  { from, models }: ImportOptions,
): readonly MapEntry[] {
  const known = new Set(entries.map(({ provider }) => provider));
  const name = from ?? [target.name, target.kind].find((one) => known.has(one));
  if (name === undefined || !known.has(name)) {
    const received = name === undefined ? 'nothing' : JSON.stringify(name);
    const some = [...known].filter(Boolean).sort().slice(0, 50).join(', ');
    throw invalid(
      `--from: expected a provider of the map, one of ${some}, received ${received}`,
      'from',
    );
  }
  const chosen = entries.filter(
    (entry) =>
      entry.provider === name &&
      (models === undefined ||
        matchesPattern(models, entry.name) ||
        matchesPattern(models, upstreamOf(entry))),
  );
  if (chosen.length > 0) return chosen;
  throw invalid(
    `--models: no model of ${name} in the map matches ${JSON.stringify(models)}`,
    'models',
  );
}

/** The provider's name of a model, without the prefix that LiteLLM gives it. */
function upstreamOf({ name, provider }: MapEntry): string {
  const at = name.indexOf('/');
  const prefix = name.slice(0, Math.max(0, at));
  // Entries of the provider vertex_ai-language-models begin with vertex_ai/.
  const isOwn = prefix !== '' && (prefix === provider || provider.startsWith(`${prefix}-`));
  return isOwn ? name.slice(at + 1) : name;
}

/** The value in a file at a path; undefined if there is none. An alias or a variable is returned as null. */
function valueIn(model: unknown, path: readonly string[]): unknown {
  let node = model;
  for (const name of path) {
    if (isAlias(node)) return null;
    node = isMap(node) ? node.get(name, true) : undefined;
  }
  if (isAlias(node)) return null;
  if (isSeq(node)) {
    const list: unknown = node.toJSON();
    return JSON.stringify(list).includes('${') ? null : list;
  }
  if (!isScalar(node)) return node === undefined ? undefined : null;
  return typeof node.value === 'string' ? null : (node.value ?? undefined);
}

/** The single settings that are imported, by their paths. */
function leavesOf({ type: _, price, reasoning: __, ...limits }: MappedModel) {
  const leaf = ([name, value]: readonly [string, unknown], ...path: readonly string[]) =>
    [[...path, name], value] as const;
  return [
    ...Object.entries(price).map((one) => leaf(one, 'price')),
    ...Object.entries(limits).map((one) => leaf(one)),
  ];
}

const shown = (value: unknown) => (typeof value === 'number' ? value : JSON.stringify(value));

/** Compares an existing model with the map, and changes it if it is to be updated. */
function compare(
  existing: unknown,
  settings: MappedModel,
  update: boolean,
): Pick<ImportedModel, 'action' | 'changes' | 'notes'> {
  const changes: string[] = [];
  const notes: string[] = [];
  if (!isMap(existing) || existing.get('type') !== settings.type) {
    return { action: 'keep', changes, notes: [`not a map of a model of type ${settings.type}`] };
  }
  for (const [path, value] of leavesOf(settings)) {
    const before = valueIn(existing, path);
    const name = path.join('.');
    if (isDeepStrictEqual(before, value)) continue;
    if (before === null) {
      notes.push(`${name} is a YAML alias or a variable`);
      continue;
    }
    changes.push(`${name} ${before === undefined ? 'unset' : shown(before)} -> ${shown(value)}`);
    if (update) existing.setIn(path, value);
  }
  if (changes.length === 0) return { action: 'same', changes, notes };
  return { action: update ? 'update' : 'keep', changes, notes };
}

/** The node of a new model. */
function newModel(
  document: Document,
  target: Target,
  upstream: string,
  { mode }: MapEntry,
  { type, price, reasoning, ...limits }: MappedModel,
): Node {
  const dialects = findProviderKind(target.kind)?.dialects ?? ['responses'];
  const isResponses = mode === 'responses' && dialects.includes('responses');
  const route = {
    provider: target.name,
    model: upstream,
    ...(isResponses && { dialect: 'responses' }),
  };
  const node = document.createNode({
    type,
    routes: [route],
    ...(reasoning && { reasoning }),
    ...limits,
    price,
  });
  for (const name of ['routes', 'reasoning', 'price']) {
    const part = node.get(name, true) as unknown as { flow?: boolean } | undefined;
    if (part) part.flow = true;
  }
  return node;
}

/**
 * Plans the import of models from a price map into a configuration, whose comments stay.
 *
 * @param source the text of the configuration, a valid one
 * @param label its name in messages
 * @throws Failure that names each invalid value of the map
 */
export function planImport(
  source: string,
  label: string,
  entries: readonly MapEntry[],
  options: ImportOptions,
) {
  const document = parseForEdit(source);
  const target = targetOf(document, label, options);
  const chosen = entriesFrom(entries, target, options);
  const models = modelsIn(document, label);
  const names = namesIn(models);
  const planned = new Map<string, ImportedModel>();
  const skipped: { readonly name: string; readonly reason: string }[] = [];
  const faults: string[] = [];
  const added: (readonly [id: string, node: Node])[] = [];
  for (const entry of chosen) {
    const { name } = entry;
    const upstream = upstreamOf(entry);
    const skip = (reason: string) => skipped.push({ name, reason });
    if (!is(modelIdentifier(), upstream) || upstream.includes('*')) {
      skip('its name cannot be an identifier');
      continue;
    }
    const owner = names.get(upstream);
    if (planned.has(upstream)) {
      skip(`the map has ${upstream} twice`);
      continue;
    }
    const converted = convertEntry(entry, options.creditsPerUnit, target.types);
    if (typeof converted === 'string') {
      skip(converted);
      continue;
    }
    const { model: settings, notes, faults: found } = converted;
    faults.push(...found);
    if (found.length > 0) continue;
    const own = { id: upstream, upstream, settings };
    if (owner === undefined) {
      const node = newModel(document, target, upstream, entry, settings);
      models.set(upstream, node);
      added.push([upstream, node]);
      planned.set(upstream, { ...own, action: 'add', changes: [], notes });
    } else if (owner === upstream) {
      const compared = compare(models.get(upstream, true), settings, options.update);
      planned.set(upstream, { ...own, ...compared, notes: [...compared.notes, ...notes] });
    } else {
      const note = `an alias of ${owner}`;
      planned.set(upstream, { ...own, action: 'keep', changes: [], notes: [note] });
    }
  }
  if (faults.length > 0) {
    const more = faults.length - MAX_FAULTS;
    const shown = more > 0 ? [...faults.slice(0, MAX_FAULTS), `and ${more} more`] : faults;
    throw invalidConfig(shown.join('\n'));
  }
  return {
    provider: target.name,
    models: [...planned.values()],
    skipped,
    source: [...planned.values()].some(({ action }) => action === 'update')
      ? textOf(document)
      : withAdded(source, document, added),
  };
}
