import { networkPolicyOf } from '../../upstream/network-policy.ts';
import { forwardedHeaders } from '../execution/execution.ts';
import { mayLeaveServer } from '../execution/model-routes.ts';
import { Allowance, checkAddresses } from '../policy/allowance.ts';
import type { Stage } from './stage.ts';

/** Finds the features and addresses that the request uses, and what the account may use of them. */
export const inspectRequest: Stage = (execution) => {
  const { call, config, model } = execution;
  execution.allowance = new Allowance(execution.modelId, model, call.holder);
  execution.forwarded = forwardedHeaders(call, execution.allowance);
  execution.inspect();
  if (mayLeaveServer(model, config)) {
    checkAddresses(execution.inspection, networkPolicyOf(config.network));
  }
};
