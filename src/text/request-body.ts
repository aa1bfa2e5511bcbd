import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { checkAll, formatPath } from '../schema/faults.ts';
import { isObject } from '../schema/untrusted.ts';
import { received } from '../schema.ts';
import { invalid } from './refusals.ts';

/** An object whose properties are nobody's business but the provider's: it goes on as it came. */
export const anyObject = () =>
  v.pipe(
    v.custom<Readonly<Record<string, unknown>>>(isObject),
    v.metadata({ expects: 'an object' }),
  );

/**
 * A request's body held against the grammar of its dialect. The body itself goes on, not a copy of it.
 *
 * @throws Failure invalid_request, `param` naming the first field at fault by its path
 */
export function checkedBody<Output>(
  schema: v.GenericSchema<unknown, Output>,
  body: unknown,
): Output {
  if (!isObject(body)) {
    const what = Array.isArray(body) ? 'a list' : received(body);
    throw new Failure('invalid_request', `The body: expected an object, received ${what}`);
  }
  if (v.safeParse(schema, body).success) return body as Output;
  const checked = checkAll(schema, body);
  if ('output' in checked) return checked.output;
  const { path, message } = checked.faults[0]!;
  throw invalid(formatPath(path), message);
}
