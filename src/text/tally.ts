import type { TextEvent, Usage } from './canonical.ts';
import { outputEstimate, type Seen } from './metering.ts';

/** What one request has used so far, as far as anybody said or it could be seen. */
export class Tally {
  /** Of each of the `n` answers, where the provider told it. */
  readonly #usages = new Map<number, Usage>();
  #choices = 1;
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
    this.#characters = 0;
    this.#frames = 0;
    this.#usages.clear();
  }

  usage(usage: Usage, choice = 0): void {
    this.#usages.set(choice, usage);
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
      case 'finish':
        if (event.usage) this.usage(event.usage, choice);
        return;
      default:
    }
  }

  /** All answers together; null unless each of them has told its own. */
  total(): Usage | null {
    if (this.#usages.size < this.#choices) return null;
    return [...this.#usages.values()].reduce((sum, usage) => ({
      input: sum.input + usage.input,
      output: sum.output + usage.output,
      cachedInput: sum.cachedInput + usage.cachedInput,
      cacheWrite: sum.cacheWrite + usage.cacheWrite,
      reasoning: (sum.reasoning ?? 0) + (usage.reasoning ?? 0),
    }));
  }

  seen(): Seen {
    return {
      begun: this.#begun,
      outputTokens: outputEstimate(this.#characters) + this.#frames,
    };
  }
}
