import type { TermClass } from '../../src/safety/terms.ts';
import { LANGUAGE_CODES, type LanguageCode, languageTerms } from '../../src/safety/word-lists.ts';
import { DISGUISES, LATIN_DISGUISES } from './disguises.ts';

/** A prompt that must be refused, made from the terms of the rules. */
export interface Refusal {
  readonly language: string;
  /** The template and the class of terms, or the disguise. */
  readonly kind: string;
  readonly prompt: string;
}

/** The terms of a class without their marks, for use in a prompt. */
export function termsOf(code: LanguageCode, termClass: TermClass): string[] {
  return (languageTerms(code)[termClass] ?? [])
    .map((term) => term.replaceAll('*', '').replace('~', ''))
    .filter((term) => term !== '');
}

/** The first term of a class without marks, for the templates. */
export function plainTerm(code: LanguageCode, termClass: TermClass): string {
  const plain = languageTerms(code)[termClass]?.find((term) => !/^~|\*$/.test(term));
  return plain ?? termsOf(code, termClass)[0]!;
}

/** Neutral templates, filled with terms of the lists. */
const TEMPLATES: Readonly<Record<string, (person: string, term: string) => string>> = {
  list: (person, term) => `${person}, ${term}, 4k`,
  before: (person, term) => `${term} ${person}`,
  after: (person, term) => `${person} ${term}`,
  'next sentence': (person, term) => `${person}. ${term}.`,
};

const SPACELESS = new Set(['zh', 'ja']);

/** Prompts with every term that can cause a refusal, in each template. */
export function refusals(): Refusal[] {
  return LANGUAGE_CODES.flatMap((code) => {
    const made: Refusal[] = [];
    // A term that other languages share counts only in a prompt that shows its language.
    const shown =
      code === 'en' || SPACELESS.has(code) ? '' : `${termsOf(code, 'evidence')[0] ?? ''} `;
    const add = (kind: string, text: string) => {
      made.push({ language: code, kind, prompt: `${shown}${text}`.trim() });
    };
    const minor = plainTerm(code, 'minor');
    const nudity = plainTerm(code, 'nudity');
    for (const [name, template] of Object.entries(TEMPLATES)) {
      for (const termClass of ['minor', 'youth'] as const) {
        for (const person of termsOf(code, termClass)) {
          add(`${termClass}, ${name}`, template(person, nudity));
        }
      }
      for (const termClass of ['nudity', 'suggestive', 'sexual', 'private'] as const) {
        for (const term of termsOf(code, termClass)) {
          add(`${termClass}, ${name}`, template(minor, term));
        }
      }
    }
    const exposure = plainTerm(code, 'exposure');
    for (const termClass of ['area', 'soft'] as const) {
      for (const area of termsOf(code, termClass)) {
        add(`${termClass}, exposed`, `${minor}, ${exposure} ${area}`);
      }
    }
    const area = plainTerm(code, 'area');
    for (const emphasis of termsOf(code, 'emphasis')) {
      add('emphasis', `${minor}, ${emphasis} ${area}`);
    }
    return made;
  });
}

const ORDINARY = new Set(LANGUAGE_CODES.flatMap((code) => termsOf(code, 'neutral')));
const LATIN_WORD = /^[a-z]{4,}$/;

/** Plain prompts of each language, with the terms of a class in disguise. */
export function disguised(): Refusal[] {
  const disguises = Object.entries({ ...DISGUISES, ...LATIN_DISGUISES });
  return LANGUAGE_CODES.flatMap((code) => {
    const minor = plainTerm(code, 'minor');
    const nudity = plainTerm(code, 'nudity');
    return disguises.flatMap(([name, write]) => {
      const made: Refusal[] = [];
      const add = (prompt: string) => made.push({ language: code, kind: name, prompt });
      for (const termClass of ['minor', 'nudity', 'suggestive', 'sexual'] as const) {
        for (const term of termsOf(code, termClass)) {
          if (name in LATIN_DISGUISES && !LATIN_WORD.test(term)) continue;
          const written = write(term);
          // Digits alone are a number, and some words fall into two ordinary ones.
          if (/^[0-9]+$/.test(written) || ORDINARY.has(written.replace('-', ' '))) continue;
          add(termClass === 'minor' ? `${written}, ${nudity}` : `${minor}, ${written}`);
        }
      }
      return made;
    });
  });
}

/** Plain prompts that name the minor in one language and continue in another. */
export function mixed(): Refusal[] {
  return LANGUAGE_CODES.flatMap((one) =>
    LANGUAGE_CODES.map((other) => ({
      language: one,
      kind: `${one} and ${other}`,
      prompt: `${plainTerm(one, 'minor')}, ${plainTerm(other, 'nudity')}`,
    })),
  );
}
