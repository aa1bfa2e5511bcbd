import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { fieldFor } from '../schema.ts';
import type { Choosing, Pick } from './choice.ts';
import { formatPath, mismatch, showValue } from './faults.ts';
import { type Path, valueAt } from './places.ts';

interface Parts {
  readonly entries?: Readonly<Record<string, v.GenericSchema>>;
  readonly item?: v.GenericSchema;
  readonly value?: v.GenericSchema;
  readonly wrapped?: v.GenericSchema;
  readonly choose?: Pick;
}

/** The schema that stands for a place in a value, choices made by the value itself. */
function standingAt(schema: v.GenericSchema, value: unknown, path: Path): v.GenericSchema | null {
  const parts = schema as unknown as Parts;
  if (parts.wrapped) return standingAt(parts.wrapped, value, path);
  const chosen = parts.choose?.(value);
  if (chosen) return standingAt(chosen, value, path);
  const [key, ...rest] = path;
  if (key === undefined) return schema;
  const named = parts.entries;
  const next = named ? (Object.hasOwn(named, key) ? named[key] : undefined) : parts.item;
  const below = next ?? parts.value;
  return below ? standingAt(below, valueAt(value, [key]), rest) : null;
}

function expectedAt(schema: v.GenericSchema, body: unknown, path: Path): string | null {
  const standing = standingAt(schema, body, path);
  if (standing === null) return null;
  const { choose, expects } = standing as unknown as Partial<Choosing>;
  return choose && expects !== undefined ? expects : fieldFor('', standing).expects;
}

/**
 * Holds a body against its schema, which may leave properties open. The body itself goes on, not a
 * copy of it.
 *
 * @throws Failure invalid_request, `param` naming the first field at fault by its path
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
  const message = mismatch(expects, valueAt(body, path), path, showValue);
  throw new Failure('invalid_request', `${param || 'the body'}: ${message}`, {
    ...(param !== '' && { param }),
  });
}
