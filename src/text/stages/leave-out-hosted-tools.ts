import { invalid } from '../../schema/invalid.ts';
import type { TextRequest } from '../canonical/canonical.ts';
import { pathOf } from '../dialects/request-settings.ts';
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

/** Tools that a choice may allow: each is compared with every tool of the request. */
const MAX_ALLOWED = 512;

/** Refuses a choice among too many tools. */
function checkAllowedTools(request: TextRequest): void {
  const { toolChoice } = request;
  if (toolChoice?.type !== 'allowed' || toolChoice.tools.length <= MAX_ALLOWED) return;
  const expected = `expected at most ${MAX_ALLOWED} allowed tools`;
  throw invalid(pathOf(request, 'toolChoice'), `${expected}, received ${toolChoice.tools.length}`);
}
