import * as v from 'valibot';
import type { Choice, SelectSchema } from './choice.ts';
import { formatPath, formatValue, mismatch } from './faults.ts';
import { describeField } from './fields.ts';
import { invalid, named } from './invalid.ts';
import { type Path, valueAt } from './walk.ts';

interface Parts {
  readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  readonly item?: v.GenericSchema;
  readonly value?: v.GenericSchema;
  readonly wrapped?: v.GenericSchema;
  readonly select?: SelectSchema;
}

/** The schema at a path, with the options that the value itself selects. */
function selectedSchemaAt(
  schema: v.GenericSchema,
  value: unknown,
  path: Path,
): v.GenericSchema | null {
  const parts = schema as unknown as Parts;
  if (parts.wrapped) return selectedSchemaAt(parts.wrapped, value, path);
  const chosen = parts.select?.(value);
  if (chosen) return selectedSchemaAt(chosen, value, path);
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  const named = parts.entries;
  const next = named ? (Object.hasOwn(named, key) ? named[key] : undefined) : parts.item;
  const child = next ?? parts.value;
  return child ? selectedSchemaAt(child, valueAt(value, [key]), rest) : null;
}

function expectedAt(schema: v.GenericSchema, body: unknown, path: Path): string | null {
  const schemaThere = selectedSchemaAt(schema, body, path);
  if (schemaThere === null) return null;
  const { select, expects } = schemaThere as unknown as Partial<Choice>;
  return select && expects !== undefined ? expects : describeField('', schemaThere).expects;
}

/**
 * Validates a body and returns it, not a copy.
 *
 * @throws Failure invalid_request, `param` is the path of the first invalid field
 */
export function checkedBody<const Schema extends v.GenericSchema>(
  schema: Schema,
  body: unknown,
): v.InferInput<Schema> {
  const parsed = v.safeParse(schema, body, { abortEarly: true });
  if (parsed.success) return body as v.InferInput<Schema>;
  const issue = parsed.issues[0];
  const path = (issue.path ?? []).map(({ key }) => key as string | number);
  const param = formatPath(path);
  const expects = expectedAt(schema, body, path) ?? String(issue.expected);
  const message = mismatch(expects, valueAt(body, path), path, formatValue);
  throw param === '' ? invalid(null, named('the body', message)) : invalid(param, message);
}

/** The fields of a body that a schema does not have. A field that is null counts as left out. */
export function unknownFields(
  { entries }: { readonly entries: object },
  body: object,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(body).filter(([name, given]) => given !== null && !Object.hasOwn(entries, name)),
  );
}
