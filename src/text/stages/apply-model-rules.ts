import { applyRules } from '../policy/rules.ts';
import type { Stage } from './stage.ts';

/** Changes settings that the model does not support, or refuses them. */
export const applyModelRules: Stage = (execution) => {
  const { modelId, model, config } = execution;
  const ruled = applyRules(execution.request, modelId, model, config.billing.maxOutputTokens);
  execution.request = ruled.request;
  execution.changedSettings = ruled.changedSettings;
  execution.omit({ dropped: ruled.clamped });
};
