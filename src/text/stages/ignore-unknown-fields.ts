import type { TextModel } from '../../config/catalog/catalog.ts';
import { invalid } from '../../schema/invalid.ts';
import type { Json } from '../canonical/canonical.ts';
import type { Inspection, UnknownField } from '../dialects/inspection.ts';
import { hasRouteOf } from '../execution/model-routes.ts';
import type { Stage } from './stage.ts';

/** Removes fields that this version does not know, unless a provider of the client's dialect may be sent them. */
export const ignoreUnknownFields: Stage = (execution) => {
  const { call, config, model, allowance, inspection, request } = execution;
  if (allowance.allows('unknown') && hasRouteOf(call.dialect, model, config)) return;
  const ignored = removeUnknown(inspection, request.body, execution.modelId, model);
  if (ignored.length === 0) return;
  execution.decode(request.body);
  execution.omit({ ignored });
};

/**
 * Removes unknown fields from a body: clients and answers that they send back gain properties before this server
 * knows them. A model can refuse those at the top of a body instead. The request must be decoded again where any
 * was removed.
 *
 * @param id the model's public identifier
 * @returns paths of the removed fields
 * @throws Failure invalid_request, code `unknown_parameter`
 */
export function removeUnknown(
  { unknown }: Inspection,
  body: Json,
  id: string,
  { unknownFields = 'ignore' }: TextModel,
): readonly string[] {
  const top =
    unknownFields === 'refuse' ? unknown.find(({ object }) => object === body) : undefined;
  if (top !== undefined) throw unknownField(top, id);
  for (const { object, name } of unknown) delete (object as Record<string, unknown>)[name];
  return unknown.map(({ path }) => path);
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
