import type { Failure } from '../../../failure.ts';
import { invalid } from '../../../schema/invalid.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../canonical/canonical.ts';
import { namedFrame } from '../named-frame.ts';
import type { MessagesRequest } from './fields.ts';

/** The last frame of a stream that failed. */
export function failFrames({ type, message: written, param, code }: Failure): string {
  const message = messageForClients(written, code);
  return namedFrame({ type: 'error', error: { type, message, param, code } });
}

/** Clients of this format shorten the conversation where the message of an error has these words. */
const TOO_LONG = 'prompt is too long';

function messageForClients(message: string, code: unknown): string {
  const isShown = code !== 'context_length_exceeded' || message.toLowerCase().includes(TOO_LONG);
  return isShown ? message : `${TOO_LONG}: ${message}`;
}

/** The `error` of a response, with the words that clients of this format look for. */
function errorForClients(error: Json): Json {
  return { ...error, message: messageForClients(String(error['message']), error['code']) };
}

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
