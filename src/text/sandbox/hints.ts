import type { Work } from './schema/work.ts';

/** A person would take these for the place in `the weather in New York`. */
const PLACE = /\b(?:in|at|for|from|of|to|near)\s+(\p{Lu}[\p{L}'’-]*(?:\s\p{Lu}[\p{L}'’-]*){0,3})/u;
const PLACES = /^(city|town|location|place|address|country|region|destination|origin)$/i;
const WHOLE = /^(q|query|prompt|text|input|message|question|content|search|body|request)$/i;
const QUOTED = /"([^"\n]{1,200})"|“([^“”\n]{1,200})”|'([^'\n]{1,200})'/g;
const ASSIGNED =
  /(?<![\w-])([\w-]{1,64})\s{0,4}[=:]\s{0,4}(?:"([^"\n]{0,200})"|([^\s,;"]{1,200}))/g;
const NUMBER = /(?<![\w.-])-?\d{1,15}(?:\.\d{1,15})?(?![\w.]{0,20}\w)/g;

const LETTER = /[\p{L}\p{N}_-]/u;

/** Steps that a look at one place of the prompt takes. */
const LOOK = 3;

/** Longer prompts are looked at so far only. */
const READ = 20_000;

/** What the values of a call or of a document may be taken from: the words of the prompt. */
export class Hints {
  readonly #prompt: string;
  readonly #lowerCase: string;
  readonly #place: string | undefined;
  readonly #assigned = new Map<string, string>();
  readonly #quoted: string[];
  readonly #numbers: number[];

  constructor(prompt: string) {
    this.#prompt = prompt.slice(0, READ);
    this.#lowerCase = this.#prompt.toLowerCase();
    this.#place = PLACE.exec(this.#prompt)?.[1];
    for (const [, name, quoted, bare] of this.#prompt.matchAll(ASSIGNED)) {
      const value = quoted ?? bare!.replace(/[.?!)]+$/, '');
      this.#assigned.set(name!.toLowerCase(), value);
    }
    this.#quoted = [...this.#prompt.matchAll(QUOTED)].map(([, a, b, c]) => (a ?? b ?? c)!);
    this.#numbers = (this.#prompt.match(NUMBER) ?? []).map(Number);
  }

  /** Texts that a property of this name may have, the best first. */
  texts(name: string): string[] {
    const place = PLACES.test(name) ? this.#place : undefined;
    const whole = WHOLE.test(name) && this.#prompt.trim() !== '' ? this.#prompt.trim() : undefined;
    const found = [this.#assigned.get(name.toLowerCase()), place, this.#quoted[0], whole];
    return found.filter((text) => text !== undefined);
  }

  /** Numbers that a property of this name may have, the best first. */
  numbers(name: string): number[] {
    const assigned = Number(this.#assigned.get(name.toLowerCase()) ?? Number.NaN);
    return [...(Number.isFinite(assigned) ? [assigned] : []), ...this.#numbers.slice(0, 20)];
  }

  /** Whether the prompt has a word of a choice. */
  mentions(word: string, work: Work): boolean {
    return word !== '' && this.placeOf(word, work) >= 0;
  }

  /** Where the prompt has a word, whatever its case; -1 where it has it nowhere, or inside another only. */
  placeOf(word: string, work: Work): number {
    const sought = word.toLowerCase();
    work.spend(sought.length + this.#lowerCase.length / 512);
    let at = this.#lowerCase.indexOf(sought);
    while (at >= 0) {
      work.spend(LOOK);
      const before = this.#lowerCase[at - 1] ?? ' ';
      const after = this.#lowerCase[at + sought.length] ?? ' ';
      if (!LETTER.test(before) && !LETTER.test(after)) return at;
      at = this.#lowerCase.indexOf(sought, at + sought.length);
    }
    return -1;
  }
}
