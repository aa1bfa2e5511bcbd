import type * as v from 'valibot';
import { openObject } from '../../schema/choice.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Json, RequestSetting, RequestSettings } from '../canonical/canonical.ts';
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

/** The paths of settings in a request's body, the preferred one first. The dialect does not have settings that are absent. */
export type SettingNames = Readonly<Partial<Record<RequestSetting, readonly string[]>>>;

/** One field of a request: the one declaration of what it accepts, means and becomes in other formats. */
export interface Field<Schema extends v.GenericSchema | null = v.GenericSchema | null> {
  /** What it accepts; null for anything. */
  readonly schema: Schema;
  /** The setting of the canonical request that has its value unchanged; null for none. */
  readonly setting: RequestSetting | null;
  /** Further settings that its value decides. */
  readonly decidesSettings: readonly RequestSetting[];
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
export const kinds = new WeakMap<Check, readonly Kind[]>();

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

export type ObjectSchema<Own extends Fields> = v.LooseObjectSchema<
  {
    readonly [Name in keyof Own as Own[Name]['schema'] extends null ? never : Name]: Extract<
      Own[Name]['schema'],
      v.GenericSchema
    >;
  },
  undefined
>;

/** Objects of one kind, or of several: how they are validated, and how they are inspected. */
export interface Shape<Schema extends v.GenericSchema = v.GenericSchema> {
  readonly schema: Schema;
  readonly check: Check;
}

/** The schemas of several shapes. */
export function schemasOf<const Shapes extends Readonly<Record<string, Shape>>>(shapes: Shapes) {
  const entries = Object.entries(shapes).map(([name, { schema }]) => [name, schema]);
  return Object.fromEntries(entries) as {
    readonly [Name in keyof Shapes]: Shapes[Name]['schema'];
  };
}

const NONE: readonly string[] = [];

const UNKNOWN = feature('unknown');

/** Settings of a request that sets none. A literal each time: objects that are filled after a spread take 80 µs. */
export const noSettings = (): RequestSettings => ({
  toolChoice: null,
  parallelToolCalls: null,
  maxOutputTokens: null,
  temperature: null,
  topP: null,
  topK: null,
  stop: null,
  n: null,
  frequencyPenalty: null,
  presencePenalty: null,
  seed: null,
  logprobs: null,
  topLogprobs: null,
  logitBias: null,
  format: null,
  verbosity: null,
  reasoning: null,
});

/** The fields of one kind of object. @param isKind whether an unknown property says what an object is, so that it is not left out */
export function fieldTable<const Own extends Fields>(
  fields: Own,
  isKind?: (value: Json, name: string) => boolean,
): FieldTable<ObjectSchema<Own>> {
  const declared = Object.entries(fields).flatMap(([name, { schema }]) =>
    schema ? [[name, schema]] : [],
  );
  const schema = openObject(Object.fromEntries(declared) as v.ObjectEntries);
  return new FieldTable(fields, schema as unknown as ObjectSchema<Own>, isKind);
}

/** The fields of one kind of object. */
export class FieldTable<Schema extends v.GenericSchema = v.GenericSchema> {
  readonly entries: ReadonlyMap<string, Field>;
  /** What an object is, as far as it is validated. */
  readonly schema: Schema;
  readonly settings: SettingNames;
  /** Names of the fields that are settings of the canonical request as they are. */
  readonly #plain: readonly (readonly [name: string, setting: RequestSetting])[];
  /** Inspects an object, or a list of them: every property is in the table. */
  readonly check: Check;

  constructor(fields: Fields, schema: Schema, isKind?: (value: Json, name: string) => boolean) {
    const entries = new Map(Object.entries(fields));
    this.entries = entries;
    this.schema = schema;
    this.settings = settingsOf(entries);
    this.#plain = Array.from(entries).flatMap(([name, { setting }]) =>
      setting === null ? [] : [[name, setting]],
    );
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

  /** The settings that an object has as they are; null for all others. */
  decodeSettings(value: Json): RequestSettings {
    const settings: { [Setting in RequestSetting]: unknown } = noSettings();
    for (const [name, setting] of this.#plain) {
      const own = value[name];
      const isEmpty = own === undefined || own === null || (Array.isArray(own) && own.length === 0);
      if (!isEmpty) settings[setting] = own;
    }
    return settings as RequestSettings;
  }

  /** Puts settings that an object has as they are into a body. @returns the body */
  encodeSettings(
    settings: RequestSettings,
    body: Record<string, unknown> = {},
  ): Record<string, unknown> {
    for (const [name, setting] of this.#plain) {
      const value = settings[setting];
      if (value !== null) body[name] = value;
      else if (name in body) delete body[name];
    }
    return body;
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

/** The paths of the settings that fields have, with those of the objects within them before their own. */
function settingsOf(entries: ReadonlyMap<string, Field>): SettingNames {
  const paths: Partial<Record<RequestSetting, string[]>> = {};
  const add = (setting: RequestSetting, path: string) => {
    paths[setting] ??= [];
    paths[setting].push(path);
  };
  for (const [name, { setting, decidesSettings, kinds: inner, isList }] of entries) {
    const within = isList || inner[0]?.type !== null ? {} : (inner[0].table?.settings ?? {});
    for (const [one, names] of Object.entries(within)) {
      for (const own of names) add(one as RequestSetting, `${name}.${own}`);
    }
    for (const one of setting === null ? decidesSettings : [setting, ...decidesSettings]) {
      add(one, name);
    }
  }
  return paths;
}

/** A check of objects with the given fields. */
export const object = (fields: Fields): Check => fieldTable(fields).check;

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
  checks: Readonly<Record<string, Check | Shape | null>>,
  { usual, translated }: { readonly usual?: string; readonly translated?: readonly string[] } = {},
): Check {
  const known = new Map(
    Object.entries(checks).map(([type, own]) => [type, own && 'check' in own ? own.check : own]),
  );
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
