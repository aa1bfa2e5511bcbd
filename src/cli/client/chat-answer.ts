import { codedFailure, Failure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';
import { objectOf, textOf } from '../../schema/untrusted.ts';
import { DONE, EventStream } from '../../text/relay/sse.ts';
import type { UpstreamResponse } from '../../upstream/response.ts';
import { responseChunks } from '../../upstream/response-chunks.ts';
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
  for await (const chunks of chunksOf(exchange)) {
    for (const chunk of chunks) finishReason = chunk.finishReason ?? finishReason;
    for (const { kind, text } of joined(chunks.flatMap(({ deltas }) => deltas))) {
      received[kind] += text;
      if (kind === 'reasoning') output.reasoning(text);
      else await output.text(text);
    }
  }
  return { ...received, finishReason };
}

/**
 * The events of an answer, with those that came at once together.
 *
 * @throws Failure where the stream fails or ends early, after the received part
 */
async function* chunksOf(exchange: UpstreamResponse): AsyncGenerator<readonly Chunk[]> {
  const chunks: Chunk[] = [];
  let done = false;
  const events = new EventStream((data) => {
    if (done) return;
    if (data === DONE) done = true;
    else chunks.push(readChunk(data));
  });
  try {
    for await (const bytes of responseChunks(exchange)) {
      events.push(bytes);
      yield chunks.splice(0);
    }
    events.end();
  } catch (error) {
    yield chunks.splice(0);
    // An error after the end of the answer is ignored.
    if (!done) throw error;
  }
  yield chunks.splice(0);
  if (!done) throw codedFailure('stream_truncated', 'the answer was cut off before its end');
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
interface Delta {
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
  const chunk = valueOr<unknown, undefined>(() => JSON.parse(data), undefined);
  if (chunk === undefined) {
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
const withoutControls = (text: string): string => text.replace(CONTROLS, '');

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
