import type { TextModel } from '../../config/catalog.ts';
import type { Json } from '../canonical.ts';
import type { Inspection, UnknownField } from '../dialects/inspection.ts';
import { invalid } from '../dialects/request-errors.ts';

/** What happens to the fields of a request that no table of fields names. */
export interface UnknownFields {
  /** Paths of those that were removed from the body. */
  readonly removed: readonly string[];
  /** Whether the request must be decoded again, so that no part of it holds what was removed. */
  readonly isIgnored: boolean;
}

export const NO_UNKNOWN: UnknownFields = { removed: [], isIgnored: false };

/**
 * Removes unknown fields from a body. By default one at the top of the body is refused, since it may
 * change the answer, and one within is removed: answers that clients send back gain properties before this
 * server knows them.
 *
 * @param id the model's public identifier
 * @throws Failure invalid_request, code `unknown_parameter`
 */
export function removeUnknown(
  { unknown }: Inspection,
  body: Json,
  id: string,
  { unknownFields = 'refuse' }: TextModel,
): UnknownFields {
  if (unknown.length === 0) return NO_UNKNOWN;
  const isIgnored = unknownFields === 'ignore';
  const top = isIgnored ? undefined : unknown.find(({ object }) => object === body);
  if (top !== undefined) throw unknownField(top, id);
  for (const { object, name } of unknown) delete (object as Record<string, unknown>)[name];
  return { removed: unknown.map(({ path }) => path), isIgnored };
}

function unknownField({ path }: UnknownField, id: string): Error {
  const param = path.slice(0, 100);
  const remedy = `models.${id}.unknownFields: ignore, or allow: [unknown] for upstreams of the same format`;
  return invalid(
    param,
    `this version of Oriel does not know this field; the operator of this server can have it ignored (${remedy})`,
    'unknown_parameter',
  );
}
