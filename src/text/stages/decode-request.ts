import { findModelOfType } from '../execution/model-routes.ts';
import type { Stage } from './stage.ts';

/** Decodes the body in the client's dialect, and finds the model that it names. */
export const decodeRequest: Stage = (execution) => {
  const { call, config } = execution;
  execution.decode(call.body);
  const name = execution.request.model;
  const { id, part, model } = findModelOfType('text', name, config, call.holder);
  call.report.model = id;
  execution.modelId = id;
  execution.wildcardPart = part;
  execution.model = model;
  execution.publicModel = config.answers.model === 'public' ? name : null;
};
