import type { Failure } from '../../../failure.ts';
import type { Json } from '../../canonical/canonical.ts';
import { namedFrame } from '../named-frame.ts';

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
export function errorForClients(error: Json): Json {
  return { ...error, message: messageForClients(String(error['message']), error['code']) };
}
