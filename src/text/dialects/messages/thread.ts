import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical.ts';
import { invalid } from '../request-errors.ts';
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

/** An error body with the details by which Anthropic's SDK recognises that it must not use threads. */
export function withThreadDetails(body: Json): Json {
  const { error } = body;
  if (!isObject(error) || error['code'] !== CODE) return body;
  return { ...body, error: { ...error, details: { error_code: CODE, unsupported: ['thread'] } } };
}
