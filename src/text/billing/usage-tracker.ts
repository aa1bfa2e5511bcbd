import type { TextEvent, Usage } from '../canonical.ts';
import { type ObservedOutput, outputEstimate } from './meter.ts';
import { sumOfUsages } from './usage.ts';

/** More tokens than any model reads or writes for one answer. */
const IMPLAUSIBLE_TOKENS = 10_000_000;

/** Whether usage is plausible. Other reports are ignored, so that a miscount cannot empty an account. */
function isPlausible({ input, output }: Usage): boolean {
  return input < IMPLAUSIBLE_TOKENS && output < IMPLAUSIBLE_TOKENS;
}

/** Collects the usage of one request, from reports of the provider and from observed output. */
export class UsageTracker {
  /** Reported usage by number of the answer. */
  readonly #usages: Usage[] = [];
  #choices = 1;
  /** Answers that ended. */
  #finished = 0;
  /** Requests to upstreams. */
  #requests = 0;
  #characters = 0;
  #frames = 0;

  /** Records how many answers upstreams are asked for. */
  begin(choices: number): void {
    this.#choices = choices;
  }

  /** Records a request to an upstream. */
  addRequest(): void {
    this.#requests += 1;
  }

  /** Discards the counts of a route that failed without a charge. */
  reset(): void {
    this.#requests = 0;
    this.#finished = 0;
    this.#characters = 0;
    this.#frames = 0;
    this.#usages.length = 0;
  }

  /** Takes the provider's report on one answer. */
  reportUsage(usage: Usage, choice = 0): void {
    if (isPlausible(usage)) this.#usages[choice] = usage;
  }

  /** Records that an answer ended, so that its reported usage is final. */
  finishAnswer(): void {
    this.#finished += 1;
  }

  /** Counts frames that are relayed unparsed, each of which holds about one token. */
  addFrames(count: number): void {
    this.#frames += count;
  }

  /** Counts the output in an event, or takes its report. */
  addEvent(event: TextEvent, choice: number): void {
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
        this.reportUsage(event.usage, choice);
        return;
      case 'finish':
        this.finishAnswer();
        if (event.usage) this.reportUsage(event.usage, choice);
        return;
      default:
    }
  }

  /**
   * The usages of all answers in their order; null unless the provider reported each. Reports at the start
   * of an answer count no output, so that for an answer without an end the observed output counts.
   */
  usages(): readonly Usage[] | null {
    // Without answers whose usage was not reported.
    const reported = this.#usages.filter((usage) => usage !== undefined);
    if (reported.length < this.#choices) return null;
    if (this.#finished >= this.#choices) return reported;
    const missing = this.observed().outputTokens - sumOfUsages(reported).output;
    if (missing <= 0) return reported;
    const [first, ...others] = reported;
    return [{ ...first!, output: first!.output + missing }, ...others];
  }

  observed(): ObservedOutput {
    return {
      requests: this.#requests,
      outputTokens: outputEstimate(this.#characters) + this.#frames,
    };
  }
}
