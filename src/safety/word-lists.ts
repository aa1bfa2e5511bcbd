import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TermClass } from './terms.ts';

/** The languages whose prompts the rules read. Each has its terms in config/safety/CODE.json. */
export const LANGUAGE_CODES = [
  ...(['en', 'de', 'fr', 'es', 'pt', 'it', 'pl', 'nl', 'tr'] as const),
  ...(['ru', 'uk', 'zh', 'ja', 'ko', 'hi', 'ar', 'id', 'vi'] as const),
] as const;

export type LanguageCode = (typeof LANGUAGE_CODES)[number];

/**
 * The terms of one language by their class. A term is one or several words; a word that ends with `*`
 * stands for all words that begin with it. A term that begins with `~` is also a common word of other
 * languages and counts only in a prompt that shows this one. Terms are written as people write them and
 * normalised as prompts are.
 */
export type LanguageTerms = Readonly<Partial<Record<TermClass, readonly string[]>>>;

/** Words by which prompts state ages, in all languages. */
export interface AgeWords {
  /** Names of the numbers from 1 to 17, by language; null for a number of several words. */
  readonly numbers: Readonly<Record<string, readonly (string | null)[]>>;
  /** Words that make the number after them an adult's age: `twenty-five`, `dua puluh lima`. */
  readonly tens: readonly string[];
  /** Words between tens and ones: `treinta y cinco`. */
  readonly links: readonly string[];
  /** Words after a number of years. A last `*` leaves the end of the word open. */
  readonly units: readonly string[];
  /** Words after a number of days, weeks or months. */
  readonly infantUnits: readonly string[];
  /** Words before an age that has no unit: `aged 9`. */
  readonly leads: readonly string[];
  /** Words that may stand between those and the number. */
  readonly leadFillers: readonly string[];
}

const require = createRequire(import.meta.url);

function readList(name: string): unknown {
  return JSON.parse(readFileSync(require.resolve(`#config/safety/${name}.json`), 'utf8'));
}

/** Read with this module: later, the process may have no free file descriptor. */
const LISTS = new Map(
  [...LANGUAGE_CODES, 'ages'].map((name): [string, unknown] => [name, readList(name)]),
);

export function languageTerms(code: LanguageCode): LanguageTerms {
  return LISTS.get(code) as LanguageTerms;
}

export const ageWords = (): AgeWords => LISTS.get('ages') as AgeWords;
