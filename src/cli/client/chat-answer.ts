import { codedFailure, Failure } from '../../failure.ts';
import { objectOf, textOf } from '../../schema/untrusted.ts';
import { EventStream } from '../../text/relay/sse.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import { print } from '../terminal/terminal.ts';
import { messageOf } from './daemon-client.ts';

/** A complete answer of a model. */
export type ChatAnswer = Readonly<Record<Delta['kind'], string>> & Pick<Chunk, 'finishReason'>;

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
    throw codedFailure('stream_truncated', 'the answer was cut off before its end');
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
  /** `finish_reason` of the response; null if it has none. */
  readonly finishReason: string | null;
}

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
  const { error, choices } = objectOf(chunk);
  if (error !== undefined && error !== null) {
    throw new Failure('service_error', messageOf(data) ?? 'the answer failed on its way');
  }
  const { delta, finish_reason } = objectOf(Array.isArray(choices) ? choices[0] : undefined);
  const { reasoning_content, content, refusal } = objectOf(delta);
  const deltas: Delta[] = [
    { kind: 'reasoning', text: textOf(reasoning_content) },
    { kind: 'text', text: textOf(content) },
    { kind: 'text', text: textOf(refusal) },
  ];
  return {
    deltas: deltas.filter(({ text }) => text !== ''),
    finishReason: textOf(finish_reason) || null,
  };
}

/** Characters that control a terminal, bidi controls included, except line ends and tabs. */
const CONTROLS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f]/g;

/** Removes characters that control a terminal. */
function withoutControls(text: string): string {
  return text.replace(CONTROLS, '');
}

/**
 * Prints an answer while it arrives: its text to standard output, its reasoning dimmed to standard
 * error where that is a terminal.
 */
export class ChatOutput {
  readonly #isTerminal = process.stdout.isTTY === true;
  readonly #showsReasoning = process.stderr.isTTY === true;
  readonly #dims = process.stderr.isTTY === true && process.stderr.getColorDepth() > 1;
  #reasoned = false;
  #written = false;
  #lineOpen = false;

  reasoning(text: string): void {
    const shown = withoutControls(text);
    if (!this.#showsReasoning || this.#written || shown === '') return;
    this.#reasoned = true;
    process.stderr.write(this.#dims ? `\u001b[2m${shown}\u001b[22m` : shown);
  }

  /** @throws EPIPE where the reader has closed standard output */
  async text(text: string): Promise<void> {
    const shown = this.#isTerminal ? withoutControls(text) : text;
    if (shown === '') return;
    if (this.#reasoned && !this.#written) process.stderr.write('\n\n');
    this.#written = true;
    this.#lineOpen = !shown.endsWith('\n');
    await print(shown);
  }

  /** Ends the line, so that the next output starts a new one. */
  async end(): Promise<void> {
    if (this.#reasoned && !this.#written) process.stderr.write('\n');
    if (this.#lineOpen) await print('\n');
    this.#reasoned = false;
    this.#written = false;
    this.#lineOpen = false;
  }
}
