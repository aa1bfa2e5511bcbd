import { Failure } from '../../failure.ts';
import { reportCharge } from '../billing/charge-report.ts';
import type { TextExecution } from '../execution/execution.ts';
import type { GatewayServices, Stage } from './stage.ts';

/** Charges the answer, or releases the reservation of a request that no provider charges for. */
export const chargeAnswer: Stage = async (execution, services) => {
  const { call, outcome, tracker } = execution;
  if (outcome !== null) {
    call.report.failure = outcome.failure;
    try {
      await settle(execution, services, isCut(execution, services, outcome.failure));
      return;
    } catch (error) {
      execution.outcome = null;
      execution.error = error;
    }
  }
  // For a client that has left, the routing throws its disconnect in place of what the attempt threw.
  const error = call.clientDisconnect.aborted ? execution.attemptError : execution.error;
  // The provider may charge for an answer that cannot be sent, and for one that was aborted.
  const isBillable = error instanceof Failure && error.type === 'billable_error';
  const cut = isCut(execution, services, error);
  const isCharged = isBillable || cut || execution.drain.signal.aborted;
  if (!isCharged) tracker.reset();
  if (isCharged || tracker.hasKept) await settle(execution, services, cut);
  else await execution.meter.release();
};

async function settle(
  { call, meter, tracker }: TextExecution,
  { observer }: GatewayServices,
  isCutOff: boolean,
): Promise<void> {
  const settling = meter.settle(tracker.answers(), isCutOff);
  call.onCharging();
  reportCharge(await settling, call, observer);
}

/** Whether this server stopped reading before the provider's report. */
function isCut(
  { call, drain }: TextExecution,
  { drains }: GatewayServices,
  failure: unknown,
): boolean {
  if (drains.isClosed) return false;
  if (drain.signal.aborted) return true;
  // A client that stops reading stops the provider too.
  return (call.clientDisconnect.aborted || call.response.isBlocked) && isOwnTimeout(failure);
}

/** Whether a timeout of this server ended an answer, and not the provider. */
function isOwnTimeout(error: unknown): boolean {
  return error instanceof Failure && error.type === 'timeout' && error.detail === null;
}
