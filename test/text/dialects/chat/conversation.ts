import type { Json, TextRequest } from '../../../../src/text/canonical/canonical.ts';
import { decodeRequest } from '../../../../src/text/dialects/chat/decode-request.ts';
import { target } from '../../request.ts';
import { decoded, decodedWhole } from '../answer-events.ts';

/** A request of a chat client. */
export function request(more: Json = {}): TextRequest {
  return decodeRequest({
    model: 'some-model',
    messages: [{ role: 'user', content: 'Hello' }],
    ...more,
  });
}

/** A request of a client of another format. */
export function foreign(more: Partial<TextRequest> = {}): TextRequest {
  return { ...request(), dialect: 'messages', body: {}, ...more };
}

export const TARGET = target('chat', { reasons: true });

export const decode = (chunks: readonly unknown[]) => decoded('chat', chunks);
export const decodeWhole = (body: unknown) => decodedWhole('chat', body);

export function chunk(delta: unknown, finish: string | null = null, more: Json = {}): Json {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'upstream-model',
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...more,
  };
}

/** A complete stream of deltas. */
export function stream(deltas: readonly unknown[], finish = 'stop'): unknown[] {
  return [
    chunk({ role: 'assistant', content: '' }),
    ...deltas.map((delta) => chunk(delta)),
    chunk({}, finish),
    '[DONE]',
  ];
}
