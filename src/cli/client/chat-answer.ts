import { Failure } from '../../failure.ts';
import { EventStream } from '../../text/relay/sse.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import { type Delta, readChunk } from './chat-chunk.ts';
import type { ChatOutput } from './chat-output.ts';

/** What the model said. */
export interface ChatAnswer {
  readonly text: string;
  readonly reasoning: string;
  /** As the daemon calls it; null where it said none. */
  readonly finishReason: string | null;
}

/**
 * Shows a streamed chat completion as it comes.
 *
 * @throws Failure where it fails on the way or ends too soon, once what came has been shown; EPIPE
 *   where nobody reads any more
 */
export async function showAnswer(
  exchange: UpstreamResponse,
  output: ChatOutput,
): Promise<ChatAnswer> {
  const said = { text: '', reasoning: '' };
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
    for (const { kind, text } of chunk.deltas) said[kind] += text;
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
    // What goes wrong behind the end is nobody's loss.
    if (!done) throw error;
  }
  await display.finished();
  if (!done) {
    throw new Failure('network_error', 'the answer was cut off before its end', {
      code: 'stream_truncated',
    });
  }
  return { ...said, finishReason };
}

/** Writes what comes, one after another, while more of it comes. */
class Display {
  readonly #output: ChatOutput;
  readonly #exchange: UpstreamResponse;
  #waiting: Delta[] = [];
  #writing: Promise<void> | null = null;
  #broken: { readonly error: unknown } | null = null;

  constructor(output: ChatOutput, exchange: UpstreamResponse) {
    this.#output = output;
    this.#exchange = exchange;
  }

  /** A slow reader is being waited for. */
  get busy(): boolean {
    return this.#writing !== null;
  }

  add(deltas: readonly Delta[]): void {
    if (deltas.length === 0 || this.#broken) return;
    this.#waiting.push(...deltas);
    this.#writing ??= this.#write();
  }

  /** @throws where something could not be written */
  async finished(): Promise<void> {
    await this.#writing;
    if (this.#broken) throw this.#broken.error;
  }

  async #write(): Promise<void> {
    // What the same bytes bring goes out in one piece.
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
      this.#broken = { error };
      this.#exchange.abort();
    }
    this.#writing = null;
    this.#exchange.resume();
  }
}

/** Neighbours of one kind as one. */
function joined(deltas: readonly Delta[]): Delta[] {
  const runs: { kind: Delta['kind']; text: string }[] = [];
  for (const { kind, text } of deltas) {
    const last = runs.at(-1);
    if (last?.kind === kind) last.text += text;
    else runs.push({ kind, text });
  }
  return runs;
}
