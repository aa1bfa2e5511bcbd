import { tokensIn } from '../billing/usage.ts';
import type { TextRequest } from '../canonical/canonical.ts';
import type { TextEvent, Usage } from '../canonical/events.ts';
import type { Target } from '../dialects/dialect.ts';
import { dialectNamed } from '../dialects/registry.ts';
import { unsupportedSetting } from '../dialects/request-errors.ts';
import type { EmulatedAnswer, RequestEmulation } from './emulation.ts';
import { LogprobQueue } from './logprob-queue.ts';
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
    filter: (answer) => {
      const cut = new StopFilter(stop, answer);
      return (event) => cut.push(event);
    },
    streams: true,
  };

  function isTaken(text: string): boolean {
    return stops?.takesBlank !== false || text.trim() !== '';
  }
}

/** Ends an answer before the first stop sequence in one of its texts. */
class StopFilter {
  readonly #answer: EmulatedAnswer;
  readonly #sequences: StopSequences;
  readonly #logprobs = new LogprobQueue();
  /** Characters of output so far. */
  #characters = 0;
  #usage: Usage | null = null;
  #hasCalls = false;
  #isCut = false;

  constructor(sequences: readonly string[], answer: EmulatedAnswer) {
    this.#answer = answer;
    this.#sequences = new StopSequences(sequences);
  }

  push(event: TextEvent): void {
    if (this.#isCut) return;
    const { emit } = this.#answer;
    switch (event.type) {
      case 'text-delta':
        this.#pushText(event);
        return;
      case 'text-end':
        this.#emitText(event.block, this.#sequences.flush());
        this.#logprobs.clear();
        break;
      case 'reasoning-delta':
      case 'refusal-delta':
        this.#characters += event.text.length;
        break;
      case 'tool-delta':
        this.#characters += event.json.length;
        break;
      case 'tool-start':
        this.#hasCalls = true;
        break;
      case 'usage':
        this.#usage = event.usage;
    }
    emit(event);
  }

  #pushText({ block, text, logprobs }: TextEvent & { readonly type: 'text-delta' }): void {
    this.#characters += text.length;
    if (logprobs) this.#logprobs.add(text, logprobs);
    else this.#logprobs.skip(text);
    this.#emitText(block, this.#sequences.push(text));
    if (this.#sequences.found === null) return;
    this.#answer.emit({ type: 'text-end', block });
    this.#isCut = true;
    this.#answer.emit({
      type: 'finish',
      reason: this.#hasCalls ? 'tool-calls' : 'stop',
      raw: null,
      stopSequence: this.#sequences.found,
      usage: this.#estimate(),
    });
  }

  #emitText(block: number, text: string): void {
    const logprobs = this.#logprobs.take(text.length);
    if (text === '') return;
    this.#answer.emit(
      logprobs.length > 0
        ? { type: 'text-delta', block, text, logprobs }
        : { type: 'text-delta', block, text },
    );
  }

  /** Usage up to the cut: what was reported so far, and the output that arrived. */
  #estimate(): Usage {
    const { inputTokens: input } = this.#answer;
    const before = this.#usage ?? {
      input,
      output: 0,
      cachedInput: 0,
      cacheWrite: 0,
      reasoning: null,
    };
    const output = Math.max(before.output, tokensIn(this.#characters));
    return { ...before, output };
  }
}
