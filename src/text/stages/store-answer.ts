import { Failure } from '../../failure.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { Json } from '../canonical/canonical.ts';
import { storedHead, withResponses } from '../stored/response-frames.ts';
import { StoredResponses } from '../stored/stored-responses.ts';
import type { Stage } from './stage.ts';

/** Keeps the answer before its end is sent, so that the next request can continue it. */
export const storeAnswer: Stage = async (execution, { store }) => {
  const { call, config, keeping, outcome } = execution;
  await execution.remembered;
  if (keeping === null || outcome === null || outcome.failure !== null) return;
  const { own: input, previous, conversation } = keeping;
  let response: Json | null = null;
  let head = storedHead(keeping);
  const read = (found: Json) => {
    response = { ...found, ...head };
    return response;
  };
  const { body, end } = outcome;
  const whole = body === null ? null : tryParseJson(body);
  if (isObject(whole)) read(whole);
  else withResponses(end, read);
  if (response === null) return;
  const answer = { response, input, previous, conversation };
  call.earlier?.keep(answer);
  if (keeping.isStored) {
    const stored = new StoredResponses(store, call.holder.account.id, config);
    try {
      if (!(await (call.keep?.(answer) ?? stored.keep(answer)))) {
        const message = 'another process answers the request';
        Object.assign(execution, { outcome: null, error: new Failure('service_error', message) });
        return;
      }
    } catch (error) {
      // The client gets its answer, which says that it is not stored.
      if (!(error instanceof Failure)) throw error;
      head = { ...head, store: false };
    }
  }
  const change = (found: Json) => ({ ...found, ...head });
  execution.outcome = isObject(whole)
    ? { ...outcome, body: JSON.stringify(change(whole)) }
    : { ...outcome, end: withResponses(end, change) };
};
