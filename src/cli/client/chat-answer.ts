import { Failure } from '../../failure.ts';
import { EventStream } from '../../text/relay/sse.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import type { ChatOutput } from './chat-output.ts';
import { messageOf } from './error-response.ts';

/** A complete answer of a model. */
export interface ChatAnswer {
  readonly text: string;
  readonly reasoning: string;
  /** `finish_reason` of the response; null where it has none. */
  readonly finishReason: string | null;
}

/**
 * Prints a streamed chat completion while it arrives.
 *
 * @throws Failure where the stream fails or ends early, after the received part was printed; EPIPE
 *   where the reader has closed standard output
 */
export async function showAnswer(
  exchange: UpstreamResponse,
  output: ChatOutput,
): Promise<ChatAnswer> {
  const received = { text: '', reasoning: '' };
  let finishReason: string | null = null;
  let done = false;
  const display = new Display(output, exchange);
  const events = new EventStream((data) => {
    if (done) return;
    if (data === '[DONE]') {
      done = true;
      return;
    }
    const chunk = readChunk(data);
    finishReason = chunk.finishReason ?? finishReason;
    for (const { kind, text } of chunk.deltas) received[kind] += text;
    display.add(chunk.deltas);
  });
  try {
    await exchange.read((bytes) => {
      events.push(bytes);
      return !display.busy;
    });
    events.end();
  } catch (error) {
    exchange.abort();
    await display.finished();
    // An error after the end of the answer is ignored.
    if (!done) throw error;
  }
  await display.finished();
  if (!done) {
    throw new Failure('network_error', 'the answer was cut off before its end', {
      code: 'stream_truncated',
    });
  }
  return { ...received, finishReason };
}

/** Prints deltas one after another while further ones arrive. */
class Display {
  readonly #output: ChatOutput;
  readonly #exchange: UpstreamResponse;
  #waiting: Delta[] = [];
  #writing: Promise<void> | null = null;
  #error: { readonly error: unknown } | null = null;

  constructor(output: ChatOutput, exchange: UpstreamResponse) {
    this.#output = output;
    this.#exchange = exchange;
  }

  /** Whether a write is in progress. */
  get busy(): boolean {
    return this.#writing !== null;
  }

  add(deltas: readonly Delta[]): void {
    if (deltas.length === 0 || this.#error) return;
    this.#waiting.push(...deltas);
    this.#writing ??= this.#write();
  }

  /** @throws the error of a failed write */
  async finished(): Promise<void> {
    await this.#writing;
    if (this.#error) throw this.#error.error;
  }

  async #write(): Promise<void> {
    // Deltas of the same chunk of bytes are written together.
    await Promise.resolve();
    try {
      while (this.#waiting.length > 0) {
        const deltas = this.#waiting;
        this.#waiting = [];
        for (const { kind, text } of joined(deltas)) {
          if (kind === 'reasoning') this.#output.reasoning(text);
          else await this.#output.text(text);
        }
      }
    } catch (error) {
      this.#error = { error };
      this.#exchange.abort();
    }
    this.#writing = null;
    this.#exchange.resume();
  }
}

/** Joins neighbouring deltas of one kind. */
function joined(deltas: readonly Delta[]): Delta[] {
  const runs: { kind: Delta['kind']; text: string }[] = [];
  for (const { kind, text } of deltas) {
    const last = runs.at(-1);
    if (last?.kind === kind) last.text += text;
    else runs.push({ kind, text });
  }
  return runs;
}

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
function readChunk(data: string): Chunk {
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
