import { invalid } from '../../schema/invalid.ts';
import type { TextRequest } from '../canonical/canonical.ts';
import { pathOf } from '../dialects/request-settings.ts';
import { HostedTools } from '../policy/hosted-tools.ts';
import { allTools } from '../policy/leave-out.ts';
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

/** Tools that a choice may allow, and how often one of them may be compared with a tool of the request. */
const MAX_ALLOWED = 512;
const MAX_COMPARED = 4_000_000;

/** Refuses a choice among too many tools. */
function checkAllowedTools(request: TextRequest): void {
  const { toolChoice } = request;
  if (toolChoice?.type !== 'allowed') return;
  const most = Math.min(MAX_ALLOWED, Math.ceil(MAX_COMPARED / allTools(request).length));
  if (toolChoice.tools.length <= most) return;
  const expected = `expected at most ${most} allowed tools`;
  throw invalid(pathOf(request, 'toolChoice'), `${expected}, received ${toolChoice.tools.length}`);
}
