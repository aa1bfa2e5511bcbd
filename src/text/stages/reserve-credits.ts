import { answerSeconds } from '../../store/answer-identity.ts';
import { openMeter } from '../billing/meter.ts';
import { isShared, upstreamRequestsFor } from '../execution/model-routes.ts';
import type { Stage } from './stage.ts';

/** Reserves the largest charge that the request may have. */
export const reserveCredits: Stage = async (execution, { store }) => {
  const { call, config, model, request, tracker } = execution;
  const { maxOutputTokens: defaultLimit, trustUpstream } = config.billing;
  const meter = await openMeter(call.ledger ?? store, call.holder, {
    id: execution.modelId,
    model,
    request,
    tags: call.report.tags,
    admit: call.admit,
    bytes: call.bytes ?? Buffer.byteLength(JSON.stringify(call.body)),
    addsInput: execution.allowance.addsInput(execution.inspection, isShared(model, config)),
    requests: upstreamRequestsFor(request, model, config),
    defaultLimit,
    trustUpstream,
  });
  execution.meter = meter;
  execution.inputTokens = meter.inputTokens;
  if (meter.hasHiddenCost) {
    execution.cutUsage = (choice) => meter.cutUsageOf(choice, tracker.outputOf(choice));
  }
  execution.context = {
    request,
    created: answerSeconds(),
    estimatedUsage: (choice) => meter.estimateOf(choice, tracker.outputOf(choice)),
  };
};
