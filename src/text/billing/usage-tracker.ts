import type { TextEvent, Usage } from '../canonical.ts';
import { outputEstimate, type Seen } from './meter.ts';

/** Tokens that no model reads or writes for one answer. */
const TOO_MANY = 10_000_000;

/** A provider that miscounts must not empty an account: what cannot be is as good as not told. */
function isPossible({ input, output }: Usage): boolean {
  return input < TOO_MANY && output < TOO_MANY;
}

/** What one request has used so far, as far as anybody said or it could be seen. */
export class UsageTracker {
  /** Of each of the `n` answers, where the provider told it. */
  readonly #usages = new Map<number, Usage>();
  #choices = 1;
  /** Answers whose usage is told to the end. */
  #finished = 0;
  #begun = false;
  #characters = 0;
  #frames = 0;

  /** The upstream has been asked: it may be at work. */
  begin(choices: number): void {
    this.#begun = true;
    this.#choices = choices;
  }

  /** What was asked for came to nothing and cost nothing. */
  forget(): void {
    this.#begun = false;
    this.#finished = 0;
    this.#characters = 0;
    this.#frames = 0;
    this.#usages.clear();
  }

  usage(usage: Usage, choice = 0): void {
    if (isPossible(usage)) this.#usages.set(choice, usage);
  }

  /** One of the answers has come to its end: its usage is all that it used. */
  finish(): void {
    this.#finished += 1;
  }

  /** Frames that were passed on unread hold a token each, about. */
  frames(count: number): void {
    this.#frames += count;
  }

  event(event: TextEvent, choice: number): void {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
        this.#characters += event.text.length;
        return;
      case 'tool-delta':
        this.#characters += event.json.length;
        return;
      case 'usage':
        this.usage(event.usage, choice);
        return;
      case 'finish':
        this.finish();
        if (event.usage) this.usage(event.usage, choice);
        return;
      default:
    }
  }

  /**
   * All answers together; null unless each of them has told its own. Of answers that broke off,
   * providers told the output as it was at their start.
   */
  total(): Usage | null {
    if (this.#usages.size < this.#choices) return null;
    const told = [...this.#usages.values()].reduce((sum, usage) => ({
      input: sum.input + usage.input,
      output: sum.output + usage.output,
      cachedInput: sum.cachedInput + usage.cachedInput,
      cacheWrite: sum.cacheWrite + usage.cacheWrite,
      reasoning: (sum.reasoning ?? 0) + (usage.reasoning ?? 0),
    }));
    if (this.#finished >= this.#choices) return told;
    return { ...told, output: Math.max(told.output, this.seen().outputTokens) };
  }

  seen(): Seen {
    return {
      begun: this.#begun,
      outputTokens: outputEstimate(this.#characters) + this.#frames,
    };
  }
}
