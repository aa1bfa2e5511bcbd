import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { firstFault, formatPath } from '../schema/faults.ts';
import { received } from '../schema.ts';
import { invalid } from './refusals.ts';

/** An object whose properties are nobody's business but the provider's: it goes on as it came. */
export const anyObject = () =>
  v.pipe(
    v.custom<Readonly<Record<string, unknown>>>(isObject),
    v.metadata({ expects: 'an object' }),
  );

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

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
  const fault = firstFault(schema, body);
  if (fault) throw invalid(formatPath(fault.path), fault.message);
  return body as Output;
}
