import { isObject, listOf } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import { canonical, isSame, keysOf, numberOf, own, type Type, typesOf } from './reading.ts';
import type { Work } from './work.ts';

/** Steps that copying one property takes. */
const COPY = 2;

/** Bounds of which the larger counts, and bounds of which the smaller does. */
const FROM = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const TO = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];

/** Both of two schemas. */
function both(a: unknown, b: unknown, work: Work): unknown {
  if (a === undefined || a === true) return b;
  if (b === undefined || b === true || isSame(a, b, work)) return a;
  return a === false || b === false ? false : { allOf: [a, b] };
}

/**
 * One schema for what two allow, neither of which refers to others at its top; null where nothing
 * can be both.
 */
export function conjunction(a: Json, b: Json, work: Work): Json | null {
  work.spend(COPY * (keysOf(a, work).length + keysOf(b, work).length));
  const merged: Record<string, unknown> = { ...a, ...b };
  const types = commonTypes(typesOf(a, work), typesOf(b, work));
  if (types) {
    if (types.length === 0) return null;
    merged['type'] = types;
  }
  const choices = commonChoices(choicesOf(a), choicesOf(b), work);
  delete merged['const'];
  if (choices) {
    if (choices.length === 0) return null;
    merged['enum'] = choices;
  }
  for (const [names, stricter] of [
    [FROM, Math.max],
    [TO, Math.min],
  ] as const) {
    for (const name of names) {
      const [one, other] = [numberOf(a[name]), numberOf(b[name])];
      if (one !== undefined && other !== undefined) merged[name] = stricter(one, other);
    }
  }
  const required = [...listOf(a['required']), ...listOf(b['required'])];
  work.spend(COPY * required.length);
  if (required.length > 0) merged['required'] = [...new Set(required)];
  if (isObject(a['properties']) || isObject(b['properties'])) {
    merged['properties'] = commonProperties(a, b, work);
  }
  for (const name of ['additionalProperties', 'items', 'contains', 'propertyNames']) {
    if (Array.isArray(merged[name])) continue;
    const common = both(a[name], b[name], work);
    if (common !== undefined) merged[name] = common;
  }
  const [one, other] = [a['pattern'], b['pattern']];
  if (one !== undefined && other !== undefined && one !== other) return null;
  return merged;
}

function commonTypes(a: Type[] | undefined, b: Type[] | undefined): Type[] | undefined {
  if (!a || !b) return a ?? b;
  const narrow = (from: Type[], by: Type[]) =>
    from.filter((type) => by.includes(type) || (type === 'integer' && by.includes('number')));
  return [...new Set([...narrow(a, b), ...narrow(b, a)])];
}

export function choicesOf(schema: Json): readonly unknown[] | undefined {
  if (schema['const'] !== undefined) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

function commonChoices(
  a: readonly unknown[] | undefined,
  b: readonly unknown[] | undefined,
  work: Work,
): readonly unknown[] | undefined {
  if (!a || !b) return a ?? b;
  const others = new Set(b.map((other) => canonical(other, work)));
  return a.filter((choice) => others.has(canonical(choice, work)));
}

/** Each property by both schemas: where one does not name it, by what it says of others. */
function commonProperties(a: Json, b: Json, work: Work): Json {
  const [ours, theirs] = [a, b].map((schema) => {
    const named = isObject(schema['properties']) ? schema['properties'] : {};
    return { named, others: schema['additionalProperties'] };
  }) as [{ named: Json; others: unknown }, { named: Json; others: unknown }];
  const names = new Set([...keysOf(ours.named, work), ...keysOf(theirs.named, work)]);
  work.spend(COPY * names.size);
  const of = ({ named, others }: typeof ours, name: string) =>
    Object.hasOwn(named, name) ? own(named, name) : others;
  return Object.fromEntries(
    [...names].map((name) => [name, both(of(ours, name), of(theirs, name), work) ?? true]),
  );
}
