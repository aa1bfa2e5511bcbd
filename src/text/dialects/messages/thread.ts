import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { invalid } from '../request-errors.ts';
import { errorForClients } from './fail-frames.ts';
import type { MessagesRequest } from './request.ts';

const CODE = 'thread_unsupported_request';

/**
 * Refuses a request that continues or begins a conversation which the provider stores: nothing is stored
 * between requests. Clients of Anthropic's SDK 1.x then send the whole conversation.
 *
 * @throws Failure invalid_request, code `thread_unsupported_request`
 */
export function refuseThread({ thread }: MessagesRequest): void {
  if (thread === undefined || thread === null) return;
  throw invalid('thread', 'not supported; send the whole conversation in messages', CODE);
}

/** An error body with the words and details by which Anthropic's SDK recognises what to do. */
export function withThreadDetails(body: Json): Json {
  const { error } = body;
  if (!isObject(error)) return body;
  if (error['code'] !== CODE) return { ...body, error: errorForClients(error) };
  return { ...body, error: { ...error, details: { error_code: CODE, unsupported: ['thread'] } } };
}
