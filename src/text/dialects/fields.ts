import { isObject } from '../../schema/untrusted.ts';
import type { Feature } from '../../store/features.ts';
import type { Json } from '../canonical/canonical.ts';
import { all, type Check, each, feature } from './inspection.ts';
import type { NeverOmitted } from './unsupported-field.ts';

/** Values of a field that ask for what happens anyway. */
export interface NeutralValues {
  /** For the table of fields: `1`, `auto, default`. */
  readonly words: string;
  /** @param owner the object that has the field */
  test(value: unknown, owner: Json): boolean;
}

/**
 * `meaning`: reaches the model or is refused. `hint`: changes how the model samples or how long it writes; it is
 * dropped where the upstream's format lacks it, unless `onUnsupported` says otherwise. `advice`: changes nothing
 * of an answer, and is left out where the format lacks it.
 */
export type FieldClass = 'meaning' | 'hint' | 'advice';

/** One field of a request. */
export interface Field {
  readonly class: FieldClass;
  /** What it is, in a few words. */
  readonly about: string;
  /** Whether the canonical request holds it; otherwise only upstreams of the same format get it. */
  readonly isTranslated: boolean;
  /** Whether other formats have a word for it, although Oriel does not translate it. */
  readonly hasEquivalents: boolean;
  readonly neutral: NeutralValues | null;
  /** Why `onUnsupported` never leaves it out; absent where it does. */
  readonly kept?: NeverOmitted;
  /** Inspects its value; null where nothing within needs it. */
  readonly check: Check | null;
  /** Whether its value is a list of objects. */
  readonly isList: boolean;
  /** What objects it has; empty where their fields are not listed. */
  readonly kinds: readonly Kind[];
}

/** One kind of object within a field. */
interface Kind {
  /** The value of its `type`; null where objects need none. */
  readonly type: string | null;
  /** Null where none of its fields are listed. */
  readonly table: FieldTable | null;
  /** Whether upstreams of other formats get it. */
  readonly isTranslated: boolean;
}

/** The kinds of objects that a check inspects. */
const kinds = new WeakMap<Check, readonly Kind[]>();

/** A check of objects, of whose fields the documentation lists those of another. */
export function listedAs(listed: Check, check: Check): Check {
  const own: Check = (value, found, owner) => check(value, found, owner);
  kinds.set(own, kinds.get(listed) ?? []);
  return own;
}

/** A check of objects that has a further one before it. */
export function gated(gate: Check, check: Check): Check {
  const both = all(gate, check);
  kinds.set(both, kinds.get(check) ?? []);
  return both;
}

export type Fields = Readonly<Record<string, Field>>;

interface FieldOptions {
  readonly neutral?: NeutralValues;
  readonly check?: Check;
  /** Inspects each object of a list, where no other check of the list does. */
  readonly items?: Check;
  /** The feature that its values need, unless they are neutral. */
  readonly feature?: Feature;
  readonly kept?: NeverOmitted;
}

function field(
  base: Pick<Field, 'class' | 'about' | 'isTranslated' | 'hasEquivalents'>,
  { neutral, items, check = items, feature: name, kept }: FieldOptions,
): Field {
  const described = items ?? check;
  const own = {
    ...base,
    neutral: neutral ?? null,
    isList: items !== undefined,
    kinds: (described && kinds.get(described)) ?? [],
    ...(kept && { kept }),
  };
  if (name === undefined) return { ...own, check: check ?? null };
  const gate = unlessNeutral(neutral ?? null, feature(name));
  return { ...own, check: check ? all(gate, check) : gate };
}

function unlessNeutral(neutral: NeutralValues | null, check: Check): Check {
  return (value, found, owner) => {
    if (!neutral?.test(value, owner)) check(value, found, owner);
  };
}

/** A field with a meaning that the canonical request holds. */
export function meaning(about: string, options: FieldOptions = {}): Field {
  return field({ class: 'meaning', about, isTranslated: true, hasEquivalents: false }, options);
}

/** A field with a meaning that only upstreams of the same format get: no other format has a word for it. */
export function native(about: string, options: FieldOptions = {}): Field {
  return field({ class: 'meaning', about, isTranslated: false, hasEquivalents: false }, options);
}

/** A field with a meaning that only upstreams of the same format get, although others have it too. */
export function untranslated(about: string, options: FieldOptions = {}): Field {
  return field({ class: 'meaning', about, isTranslated: false, hasEquivalents: true }, options);
}

/** A hint about sampling or length that the canonical request holds. */
export function hint(about: string, options: FieldOptions = {}): Field {
  return field({ class: 'hint', about, isTranslated: true, hasEquivalents: false }, options);
}

/** A hint about sampling that only upstreams of the same format get. */
export function nativeHint(about: string, options: FieldOptions = {}): Field {
  return field({ class: 'hint', about, isTranslated: false, hasEquivalents: false }, options);
}

/** A field that changes nothing of an answer: a label, an identifier, telemetry, a hint about caches. */
export function advice(about: string, options: FieldOptions = {}): Field {
  return field({ class: 'advice', about, isTranslated: false, hasEquivalents: false }, options);
}

/** Every value: the field asks for nothing. */
export const ANY: NeutralValues = { words: 'any', test: () => true };

/** A property of an answer that clients send back: it asks for nothing. */
export function echo(about = 'Part of an earlier answer, sent back.'): Field {
  return native(about, { neutral: ANY });
}

/** Several fields with one entry. */
export function named(entry: Field, ...names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, entry]));
}

/** Fields that a decoder reads. */
export function read(...names: readonly string[]): Fields {
  return named(meaning('Content.'), ...names);
}

/** Neutral values, listed. Null is neutral everywhere. */
export function values(...neutral: readonly (string | number | boolean)[]): NeutralValues {
  return { words: neutral.join(', '), test: (value) => neutral.includes(value as string) };
}

/** Lists and objects without content. */
export const empty: NeutralValues = {
  words: 'empty',
  test: (value) => typeof value === 'object' && value !== null && Object.keys(value).length === 0,
};

const NONE: readonly string[] = [];

const UNKNOWN = feature('unknown');

/** The fields of one kind of object. */
export class FieldTable {
  readonly entries: ReadonlyMap<string, Field>;
  /** Inspects an object, or a list of them: every property is in the table. */
  readonly check: Check;

  /** @param isKind whether an unknown property says what an object is, so that it is not left out */
  constructor(fields: Fields, isKind?: (value: Json, name: string) => boolean) {
    const entries = new Map(Object.entries(fields));
    this.entries = entries;
    this.check = each((value, found) => {
      if (!isObject(value)) return;
      for (const name in value) {
        const check = entries.get(name)?.check;
        if (check === null) continue;
        const inner = value[name];
        if (inner === null || inner === undefined) continue;
        if (check === undefined) {
          if (isKind?.(value, name)) found.within(name, UNKNOWN, inner, value);
          else found.unnamed(value, name);
        } else found.within(name, check, inner, value);
      }
    });
    kinds.set(this.check, [{ type: null, table: this, isTranslated: true }]);
  }

  /**
   * Names of an object's properties that only upstreams of the same format get. Null and neutral values
   * are none of them.
   *
   * @param advice gets the paths of properties that only advise
   */
  nativeNames(value: Json, path: string, advice: string[]): readonly string[] {
    let found: string[] | undefined;
    for (const name in value) {
      const entry = this.entries.get(name);
      if (entry?.isTranslated) continue;
      const inner = value[name];
      if (inner === null || inner === undefined || entry?.neutral?.test(inner, value)) continue;
      if (entry?.class === 'advice') advice.push(path === '' ? name : `${path}.${name}`);
      else if (found === undefined) found = [name];
      else found.push(name);
    }
    return found ?? NONE;
  }

  /** The table of the values of a field; undefined where they have no fields of one kind. */
  within(name: string): FieldTable | undefined {
    const kind = this.entries.get(name)?.kinds[0];
    return kind?.type === null ? (kind.table ?? undefined) : undefined;
  }

  /** The entry at a path of names: `text`, `verbosity`. */
  at([name = '', ...rest]: readonly string[]): Field | undefined {
    return rest.length > 0 ? this.within(name)?.at(rest) : this.entries.get(name);
  }
}

/** A check of objects with the given fields. */
export function object(fields: Fields): Check {
  return new FieldTable(fields).check;
}

/** The date of a tool's version, at the end of its type. */
const VERSION = /_(\d{8}|\d{4}_\d{2}_\d{2})$/;

/**
 * An object, or a list of them, with a check for each value of its `type`, null for none. A type that
 * is not on the list is allowed with the feature `unknown`.
 *
 * @param options.usual the type of an object that names none
 * @param options.translated the types that upstreams of other formats get; all where it is absent
 */
export function byType(
  checks: Readonly<Record<string, Check | null>>,
  { usual, translated }: { readonly usual?: string; readonly translated?: readonly string[] } = {},
): Check {
  const known = new Map(Object.entries(checks));
  const check = each((value, found) => {
    if (!isObject(value)) return;
    const type = String(value['type'] ?? usual);
    let own = known.get(type);
    if (own === undefined) own = known.get(type.replace(VERSION, ''));
    if (own === undefined) found.use('unknown');
    else if (own !== null) own(value, found, value);
  });
  const typed = Array.from(known, ([type, own]) => ({
    type,
    table: (own && kinds.get(own)?.[0]?.table) ?? null,
    isTranslated: translated?.includes(type) ?? true,
  }));
  kinds.set(check, typed);
  return check;
}
