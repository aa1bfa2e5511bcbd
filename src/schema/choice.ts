import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { fieldFor } from '../schema.ts';
import { formatPath, showValue } from './faults.ts';
import { type Path, valueAt } from './places.ts';

/** Picks the schema that a value means to follow; null where it follows none of them. */
type Pick = (value: unknown) => v.GenericSchema | null;

interface Choosing {
  readonly choose: Pick;
  readonly expects: string;
}

type Options = readonly v.GenericSchema[];

/**
 * A union whose value tells which of its options it means, by its kind or by its `type`. One option
 * is checked instead of all, and what is wrong is told of that one.
 *
 * @param expects what to say where it follows none of them
 */
export function choice<const Choices extends Options>(
  expects: string,
  options: Choices,
  choose: Pick,
): v.UnionSchema<Choices, undefined> {
  const union = v.union(options);
  const chosen: v.UnionSchema<Choices, undefined> & Choosing = {
    ...union,
    choose,
    expects,
    '~run'(dataset, config) {
      const schema = choose(dataset.value) ?? union;
      return schema['~run'](dataset, config) as ReturnType<(typeof union)['~run']>;
    },
  };
  return chosen;
}

/** An object with properties beyond those that are named. Valibot alone takes lists for objects, too. */
export function openObject<const Entries extends v.ObjectEntries>(entries: Entries) {
  const base = v.looseObject(entries);
  const open: typeof base = {
    ...base,
    '~run'(dataset, config) {
      if (!Array.isArray(dataset.value)) return base['~run'](dataset, config);
      const refused = base['~run']({ value: null }, config);
      // The issue is told of the list that came.
      return { ...refused, value: dataset.value } as typeof refused;
    },
  };
  return open;
}

interface Parts {
  readonly type: string;
  readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  readonly item?: v.GenericSchema;
  readonly value?: v.GenericSchema;
  readonly wrapped?: v.GenericSchema;
  readonly choose?: Pick;
}

/** The schema that stands for a place in a value, choices made by the value itself. */
function standingAt(
  schema: v.GenericSchema,
  value: unknown,
  [key, ...rest]: Path,
): v.GenericSchema | null {
  const parts = schema as unknown as Parts;
  if (parts.wrapped) {
    return standingAt(parts.wrapped, value, key === undefined ? [] : [key, ...rest]);
  }
  if (parts.choose) {
    const chosen = parts.choose(value);
    if (chosen) return standingAt(chosen, value, key === undefined ? [] : [key, ...rest]);
  }
  if (key === undefined) return schema;
  const named = parts.entries;
  const next = named ? (Object.hasOwn(named, key) ? named[key] : undefined) : parts.item;
  const below = next ?? parts.value;
  return below ? standingAt(below, valueAt(value, [key]), rest) : null;
}

/**
 * Checks a body that may have more properties than are known, and leaves it as it is.
 *
 * @throws Failure invalid_request, `param` naming the first field at fault by its path
 */
export function checkBody(schema: v.GenericSchema, body: unknown): void {
  const parsed = v.safeParse(schema, body, { abortEarly: true });
  if (parsed.success) return;
  const issue = parsed.issues[0];
  const path = (issue.path ?? []).map(({ key }) => key as string | number);
  const standing = standingAt(schema, body, path);
  const own = (standing as unknown as Partial<Choosing> | null)?.choose && standing?.expects;
  const expects = own || (standing ? fieldFor('', standing).expects : issue.expected);
  const came = valueAt(body, path);
  const param = formatPath(path);
  const message =
    issue.type === 'raw_check'
      ? issue.message
      : `expected ${expects}, received ${showValue(came, path)}`;
  throw new Failure(
    'invalid_request',
    param === '' ? `the body: ${message}` : `${param}: ${message}`,
    {
      ...(param !== '' && { param }),
    },
  );
}
