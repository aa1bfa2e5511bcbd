import { hasRouteOf } from '../execution/model-routes.ts';
import { removeUnknown } from '../policy/unknown-fields.ts';
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
