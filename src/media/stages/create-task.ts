import { priceOf } from '../task/task-request.ts';
import type { Stage } from './stage.ts';

/** Creates the task and reserves its price, in one transaction. */
export const createTask: Stage = async (submission, { store, files }) => {
  const { call, config, stored, request, model, modelId, callbackUrl, idempotency } = submission;
  const { account, key } = call.holder;
  const limits = config.limits[account.plan];
  const { created, task } = await store.createTask({
    accountId: account.id,
    keyId: key.id,
    type: request.type,
    model: modelId,
    request,
    callbackUrl,
    deadline: store.now + config.limits.taskDeadline,
    idempotency,
    ...(call.traceparent !== undefined && { traceparent: call.traceparent }),
    ...(call.tags && { tags: call.tags }),
    reservation: priceOf(request, model),
    maxOpenTasks: limits.tasks,
    assets: stored,
    storageQuota: limits.uploads,
  });
  // The task of an earlier request has files of its own.
  if (!created) await files.discard(stored.map(({ id }) => id));
  submission.task = task;
};
