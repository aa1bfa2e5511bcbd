import { reasoningOf } from '../../config/catalog/catalog.ts';
import { codedFailure } from '../../failure.ts';
import { isObject, listOf } from '../../schema/untrusted.ts';
import type { TextExecution } from '../execution/execution.ts';
import { hasRouteOf, isShared, mayLeaveServer } from '../execution/model-routes.ts';
import { Allowance } from '../policy/allowance.ts';
import { isContinuing, itemsOf, rebuild, UnknownReference } from '../stored/history.ts';
import { StoredResponses } from '../stored/stored-responses.ts';
import type { GatewayServices, Stage } from './stage.ts';

const ENCRYPTED = 'reasoning.encrypted_content';

/** Bytes of all conversations that requests in progress have rebuilt. */
const MAX_REBUILT = 256 * 2 ** 20;

/** Gives a request of responses the conversation that it continues, and decides whether its answer is stored. */
export const restoreHistory: Stage = (execution, services) => {
  const { call, config, request } = execution;
  if (request.dialect !== 'responses') return undefined;
  const { store, input } = request.body;
  const isStored = config.responses.retention > 0 && store !== false;
  if (isContinuing(request.body)) return restore(execution, services, isStored);
  if (isStored || call.earlier) {
    begin(execution, { own: itemsOf(input), previous: null, conversation: null, isStored });
  }
  return undefined;
};

async function restore(
  execution: TextExecution,
  services: GatewayServices,
  isStored: boolean,
): Promise<void> {
  const { call, config, request } = execution;
  const { store } = services;
  const stored = new StoredResponses(store, call.holder.account.id, config, call.earlier);
  const most = config.server.bodyLimit;
  let rebuilt: Awaited<ReturnType<typeof rebuild>>;
  try {
    rebuilt = await rebuild(request.body, stored, most);
  } catch (error) {
    // What the provider itself keeps is for it to know, where it speaks this format.
    if (error instanceof UnknownReference && (await isAtProvider(execution, stored))) return;
    throw error;
  }
  const { input, own, previous, conversation } = rebuilt;
  const bytes = Buffer.byteLength(JSON.stringify(input));
  services.rebuilt.bytes += bytes;
  execution.onEnd = () => {
    services.rebuilt.bytes -= bytes;
  };
  if (services.rebuilt.bytes > MAX_REBUILT) {
    const message = 'too many long conversations at once; try again';
    throw codedFailure('overloaded', message);
  }
  const { previous_response_id: _, conversation: __, ...others } = request.body;
  execution.call = { ...call, bytes: (call.bytes ?? 0) + bytes };
  execution.decode({ ...others, input });
  begin(execution, { own, previous, conversation, isStored });
}

/** Whether the account may name what a provider stores, and it was the provider that gave it. */
async function isAtProvider(
  { call, config, model, modelId, request }: TextExecution,
  stored: StoredResponses,
): Promise<boolean> {
  if (!mayLeaveServer(model, config) || !hasRouteOf('responses', model, config)) return false;
  if (!isShared(model, config)) return true;
  const { previous_response_id: previous, conversation } = request.body;
  const allowance = new Allowance(modelId, model, call.holder);
  if (allowance.allows(previous == null ? 'conversation' : 'previous_response_id')) return true;
  const named = previous ?? (isObject(conversation) ? conversation['id'] : conversation);
  return (await stored.given([String(named)])).size > 0;
}

function begin(execution: TextExecution, keeping: NonNullable<TextExecution['keeping']>): void {
  execution.keeping = keeping;
  if (!keeping.isStored) return;
  const { request, model } = execution;
  const include = listOf(request.body['include']);
  // Oriel has the only copy: without its encrypted content the provider could not read its reasoning again.
  const reasons = reasoningOf(model).supported_efforts.length > 0 && !include.includes(ENCRYPTED);
  const body = {
    ...request.body,
    ...{ store: false, ...(reasons && { include: [...include, ENCRYPTED] }) },
  };
  const advice = request.advice.filter((path) => path !== 'store');
  execution.request = { ...request, body, advice };
}
