import { Failure } from '../../failure.ts';
import { messageOf } from './error-response.ts';

/** A piece of an answer. */
export interface Delta {
  readonly kind: 'text' | 'reasoning';
  readonly text: string;
}

interface Chunk {
  readonly deltas: readonly Delta[];
  readonly finishReason: string | null;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Reads one event of a streamed chat completion.
 *
 * @throws Failure where the event is an error, or no JSON
 */
export function readChunk(data: string): Chunk {
  let chunk: unknown;
  try {
    chunk = JSON.parse(data);
  } catch {
    throw new Failure('service_error', 'the daemon sent an event that is no JSON');
  }
  const { error, choices } = (chunk ?? {}) as Json;
  if (error !== undefined && error !== null) {
    throw new Failure('service_error', messageOf(data) ?? 'the answer failed on its way');
  }
  const choice: unknown = Array.isArray(choices) ? (choices as unknown[])[0] : undefined;
  const { delta, finish_reason } = (choice ?? {}) as Json;
  const { reasoning_content, content, refusal } = (delta ?? {}) as Json;
  return {
    deltas: [
      ...deltasOf('reasoning', reasoning_content),
      ...deltasOf('text', content),
      ...deltasOf('text', refusal),
    ],
    finishReason: typeof finish_reason === 'string' ? finish_reason : null,
  };
}

function deltasOf(kind: Delta['kind'], text: unknown): Delta[] {
  return typeof text === 'string' && text !== '' ? [{ kind, text }] : [];
}
