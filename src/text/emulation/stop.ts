import { isObject, textOf } from '../../schema/untrusted.ts';
import { tokensIn } from '../billing/usage.ts';
import type { TextRequest } from '../canonical/canonical.ts';
import { NO_USAGE, type Usage } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { unsupportedSetting } from '../dialects/request-errors.ts';
import type { EmulatedAnswer, RequestEmulation, TakeEvent } from './emulation.ts';
import { StopSequences } from './stop-sequences.ts';

/** Sequences of one request: each character of an answer may be compared with each of them. */
const MAX_SEQUENCES = 100;

/** Stop sequences that an upstream does not take: the gateway cuts the text, and aborts the upstream. */
export function emulateStop(request: TextRequest, { dialect }: Target): RequestEmulation | null {
  const { stop } = request;
  if (stop === null || stop.length === 0) return null;
  const { settings, stops } = dialectNamed(dialect);
  const native = settings.stop === undefined ? [] : stop.filter(isTaken);
  if (native.length === stop.length && stop.length <= (stops?.most ?? Infinity)) return null;
  if (stop.length > MAX_SEQUENCES) {
    const expected = `expected at most ${MAX_SEQUENCES} texts for the upstream of this model`;
    throw unsupportedSetting(request, 'stop', dialect, `${expected}, received ${stop.length}`);
  }
  return {
    request: { ...request, stop: null },
    filter: (answer) => stopFilter(stop, answer),
    streams: true,
  };

  function isTaken(text: string): boolean {
    return stops?.takesBlank !== false || text.trim() !== '';
  }
}

/** Ends an answer before the first stop sequence in one of its texts. */
function stopFilter(stop: readonly string[], { emit, inputTokens }: EmulatedAnswer): TakeEvent {
  const sequences = new StopSequences(stop);
  const queue = new LogprobQueue();
  /** Characters of output so far. */
  let characters = 0;
  /** What was reported so far. */
  let usage: Usage = { ...NO_USAGE, input: inputTokens };
  let hasCalls = false;
  const emitText = (block: number, text: string) => {
    const logprobs = queue.take(text.length);
    if (text === '') return;
    emit({ type: 'text-delta', block, text, ...(logprobs.length > 0 && { logprobs }) });
  };
  return (event) => {
    if (sequences.found !== null) return;
    switch (event.type) {
      case 'text-delta': {
        const { block, text, logprobs = null } = event;
        characters += text.length;
        queue.add(text, logprobs);
        emitText(block, sequences.push(text));
        const { found } = sequences;
        if (found === null) return;
        emit({ type: 'text-end', block });
        const output = Math.max(usage.output, tokensIn(characters));
        const reason = hasCalls ? 'tool-calls' : 'stop';
        usage = { ...usage, output };
        emit({ type: 'finish', reason, raw: null, stopSequence: found, usage });
        return;
      }
      case 'text-end':
        emitText(event.block, sequences.flush());
        queue.clear();
        break;
      case 'reasoning-delta':
      case 'refusal-delta':
        characters += event.text.length;
        break;
      case 'tool-delta':
        characters += event.json.length;
        break;
      case 'tool-start':
        hasCalls = true;
        break;
      case 'usage':
        usage = event.usage;
    }
    emit(event);
  };
}

interface Entry {
  /** Position of the end of its token in the text. */
  readonly end: number;
  readonly value: unknown;
}

/** Log probabilities of tokens, until the text of each token is passed on. */
class LogprobQueue {
  #entries: Entry[] = [];
  /** Characters of text that were added. */
  #added = 0;
  /** Characters of text that were passed on. */
  #taken = 0;

  /** Adds a text and the log probabilities of its tokens; null for a text without. */
  add(text: string, logprobs: readonly unknown[] | null): void {
    const end = this.#added + text.length;
    let position = this.#added;
    for (const value of logprobs ?? []) {
      const token = isObject(value) ? textOf(value['token']) : '';
      // A token of a few bytes of a character may have no text of its own.
      position = Math.min(end, position + token.length);
      this.#entries.push({ end: position, value });
    }
    this.#added = end;
  }

  /** Returns those of the tokens that are complete once the next characters are passed on. */
  take(characters: number): readonly unknown[] {
    this.#taken += characters;
    if (this.#entries.length === 0) return [];
    const count = this.#entries.findIndex(({ end }) => end > this.#taken);
    const taken = this.#entries.splice(0, count === -1 ? this.#entries.length : count);
    return taken.map(({ value }) => value);
  }

  /** Begins another text. */
  clear(): void {
    this.#entries = [];
    this.#added = 0;
    this.#taken = 0;
  }
}
