import type { TextEvent, Usage } from '../canonical/events.ts';
import { tokensIn } from './usage.ts';

/** More tokens than any model reads or writes for one answer. */
const IMPLAUSIBLE_TOKENS = 10_000_000;

/** Whether usage is plausible. Other reports are ignored, so that a miscount cannot empty an account. */
function isPlausible({ input, output }: Usage): boolean {
  return input < IMPLAUSIBLE_TOKENS && output < IMPLAUSIBLE_TOKENS;
}

/** What is known of the usage of one answer. */
export interface ObservedAnswer {
  /** Requests to upstreams for it. */
  readonly requests: number;
  /** Usage as the provider reported it; null where it did not. */
  readonly usage: Usage | null;
  /** Whether the answer ended, so that its reported usage is final. */
  readonly isFinished: boolean;
  /** Whether the answer came from the exact cache. */
  readonly isHit: boolean;
  /** Estimate of the tokens that were seen. */
  readonly outputTokens: number;
}

const nothing = () => ({
  requests: 0,
  usage: null as Usage | null,
  isFinished: false,
  /** Whether it is not requested again where another answer of the same request fails. */
  isKept: false,
  isHit: false,
  characters: 0,
  frames: 0,
});

type Counts = ReturnType<typeof nothing>;

/** Collects the usage of one request's answers, from reports of the provider and from observed output. */
export class UsageTracker {
  /** By number of the answer. */
  readonly #answers: Counts[] = [];

  #at(choice: number): Counts {
    this.#answers[choice] ??= nothing();
    return this.#answers[choice];
  }

  /** Records a request to an upstream. */
  addRequest(choice = 0): void {
    this.#at(choice).requests += 1;
  }

  /** Records whether the answer comes from the exact cache. */
  lookedUp(isHit: boolean, choice = 0): void {
    this.#at(choice).isHit = isHit;
  }

  /** Discards the counts of a route that failed without a charge, except for complete answers that are kept. */
  reset(): void {
    this.#answers.forEach((counts, choice) => {
      if (!counts.isKept) this.#answers[choice] = { ...nothing(), isHit: counts.isHit };
    });
  }

  /** Keeps a complete answer when others fail. */
  keep(choice: number): void {
    this.#at(choice).isKept = true;
  }

  /** Whether an answer is kept although the request failed. */
  get hasKept(): boolean {
    return this.#answers.some((counts) => counts?.isKept);
  }

  /** Takes the provider's report on one answer. */
  reportUsage(usage: Usage, choice = 0): void {
    if (isPlausible(usage)) this.#at(choice).usage = usage;
  }

  /** Records that an answer ended, so that its reported usage is final. */
  finishAnswer(choice = 0): void {
    this.#at(choice).isFinished = true;
  }

  /** Counts frames that are relayed unparsed, each of which holds about one token. */
  addFrames(count: number): void {
    this.#at(0).frames += count;
  }

  /** Counts the output in an event, or takes its report. */
  addEvent(event: TextEvent, choice: number): void {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta':
        this.#at(choice).characters += event.text.length;
        return;
      case 'tool-delta':
        this.#at(choice).characters += event.json.length;
        return;
      case 'usage':
        this.reportUsage(event.usage, choice);
        return;
      case 'finish':
        this.finishAnswer(choice);
        if (event.usage) this.reportUsage(event.usage, choice);
        return;
      default:
    }
  }

  /** All answers in their order. */
  answers(): readonly ObservedAnswer[] {
    return Array.from(this.#answers, (counts = nothing()) => observed(counts));
  }

  /** Tokens of output that were seen of one answer, about. */
  outputOf(choice: number): number {
    return observed(this.#at(choice)).outputTokens;
  }
}

function observed({ characters, frames, ...counts }: Counts): ObservedAnswer {
  return { ...counts, outputTokens: tokensIn(characters) + frames };
}
