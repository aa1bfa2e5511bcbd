import type { StepBudget } from './step-budget.ts';

/** A proper name after a preposition, such as the city in `the weather in New York`. */
const PLACE_NAME =
  /\b(?:in|at|for|from|of|to|near)\s+(\p{Lu}[\p{L}'’-]*(?:\s\p{Lu}[\p{L}'’-]*){0,3})/u;
/** Names of properties that get the place name, and of those that get the whole prompt. */
const PLACE_PROPERTY = /^(city|town|location|place|address|country|region|destination|origin)$/i;
const PROMPT_PROPERTY =
  /^(q|query|prompt|text|input|message|question|content|search|body|request)$/i;
const QUOTATION = /"([^"\n]{1,200})"|“([^“”\n]{1,200})”|'([^'\n]{1,200})'/g;
const ASSIGNMENT =
  /(?<![\w-])([\w-]{1,64})\s{0,4}[=:]\s{0,4}(?:"([^"\n]{0,200})"|([^\s,;"]{1,200}))/g;
const NUMBER = /(?<![\w.-])-?\d{1,15}(?:\.\d{1,15})?(?![\w.]{0,20}\w)/g;

const WORD_CHARACTER = /[\p{L}\p{N}_-]/u;

/** Steps that examining one occurrence of a word takes. */
const OCCURRENCE_STEPS = 3;

/** Characters of the prompt that are searched. */
const SEARCHED = 20_000;

/** Values in a prompt, for the arguments of tool calls and for structured output. */
export class PromptValues {
  readonly #prompt: string;
  readonly #lowerCase: string;
  readonly #placeName: string | undefined;
  readonly #assigned = new Map<string, string>();
  readonly #quoted: string | undefined;
  readonly #numbers: readonly number[];

  constructor(prompt: string) {
    this.#prompt = prompt.slice(0, SEARCHED);
    this.#lowerCase = this.#prompt.toLowerCase();
    this.#placeName = PLACE_NAME.exec(this.#prompt)?.[1];
    for (const [, name, quoted, bare] of this.#prompt.matchAll(ASSIGNMENT)) {
      const value = quoted ?? bare!.replace(/[.?!)]+$/, '');
      this.#assigned.set(name!.toLowerCase(), value);
    }
    const [quotation] = this.#prompt.matchAll(QUOTATION);
    this.#quoted = quotation?.slice(1).find((text) => text !== undefined);
    this.#numbers = (this.#prompt.match(NUMBER) ?? []).slice(0, 20).map(Number);
  }

  /** Texts for a property of this name, the best first. */
  texts(name: string): string[] {
    const placeName = PLACE_PROPERTY.test(name) ? this.#placeName : undefined;
    const prompt = PROMPT_PROPERTY.test(name) ? this.#prompt.trim() || undefined : undefined;
    const texts = [this.#assigned.get(name.toLowerCase()), placeName, this.#quoted, prompt];
    return texts.filter((text) => text !== undefined);
  }

  /** Numbers for a property of this name, the best first. */
  numbers(name: string): number[] {
    const assigned = Number(this.#assigned.get(name.toLowerCase()) ?? Number.NaN);
    return [...(Number.isFinite(assigned) ? [assigned] : []), ...this.#numbers];
  }

  mentions(word: string, budget: StepBudget): boolean {
    return word !== '' && this.indexOfWord(word, budget) >= 0;
  }

  /** Index of the first occurrence of a word, in any case and not inside a longer word; -1 for none. */
  indexOfWord(word: string, budget: StepBudget): number {
    const sought = word.toLowerCase();
    budget.spend(sought.length + this.#lowerCase.length / 512);
    let index = this.#lowerCase.indexOf(sought);
    while (index >= 0) {
      budget.spend(OCCURRENCE_STEPS);
      const before = this.#lowerCase[index - 1] ?? ' ';
      const after = this.#lowerCase[index + sought.length] ?? ' ';
      if (!WORD_CHARACTER.test(before) && !WORD_CHARACTER.test(after)) return index;
      index = this.#lowerCase.indexOf(sought, index + sought.length);
    }
    return -1;
  }
}
