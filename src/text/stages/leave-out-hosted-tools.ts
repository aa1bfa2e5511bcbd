import { checkAllowedTools } from '../emulation/allowed-tools.ts';
import { HostedTools } from '../policy/hosted-tools.ts';
import type { Stage } from './stage.ts';

/** Leaves out tools which the provider would run and which neither the model nor the key allows. */
export const leaveOutHostedTools: Stage = (execution) => {
  const { request, inspection, model, allowance } = execution;
  checkAllowedTools(request);
  const hosted = HostedTools.of(request, inspection, model, execution.modelId);
  execution.hosted = hosted;
  if (hosted === null) return;
  const left = hosted.withoutForbidden(request, inspection, allowance);
  execution.request = left.request;
  execution.omit(left);
};
