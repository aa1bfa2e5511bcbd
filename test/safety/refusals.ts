import type { TermClass } from '../../src/safety/terms.ts';
import { DISGUISES } from './disguises.ts';
import { LANGUAGES, type Language } from './languages.ts';

/** A prompt that must be refused, made from the terms of the rules. */
export interface Refusal {
  readonly language: string;
  /** The template and the class of terms, or the disguise. */
  readonly kind: string;
  readonly prompt: string;
}

/** The terms of a class without their marks, for use in a prompt. */
export function termsOf({ terms }: Language, termClass: TermClass): string[] {
  return (terms[termClass] ?? [])
    .map((term) => term.replaceAll('*', '').replace('~', ''))
    .filter((term) => term !== '');
}

/** The first term of a class without marks, for the templates. */
export function plainTerm(language: Language, termClass: TermClass): string {
  const plain = (language.terms[termClass] ?? []).find(
    (term) => !term.startsWith('~') && !term.endsWith('*'),
  );
  return plain ?? termsOf(language, termClass)[0]!;
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
  return LANGUAGES.flatMap((language) => {
    const made: Refusal[] = [];
    const { code } = language;
    // A term that other languages share counts only in a prompt that shows its language.
    const shown =
      code === 'en' || SPACELESS.has(code) ? '' : `${termsOf(language, 'evidence')[0] ?? ''} `;
    const add = (kind: string, text: string) => {
      made.push({ language: code, kind, prompt: `${shown}${text}`.trim() });
    };
    const minor = plainTerm(language, 'minor');
    const nudity = plainTerm(language, 'nudity');
    for (const [name, template] of Object.entries(TEMPLATES)) {
      for (const termClass of ['minor', 'youth'] as const) {
        for (const person of termsOf(language, termClass)) {
          add(`${termClass}, ${name}`, template(person, nudity));
        }
      }
      for (const termClass of ['nudity', 'suggestive', 'sexual', 'private'] as const) {
        for (const term of termsOf(language, termClass)) {
          add(`${termClass}, ${name}`, template(minor, term));
        }
      }
    }
    const exposure = plainTerm(language, 'exposure');
    for (const termClass of ['area', 'soft'] as const) {
      for (const area of termsOf(language, termClass)) {
        add(`${termClass}, exposed`, `${minor}, ${exposure} ${area}`);
      }
    }
    const area = plainTerm(language, 'area');
    for (const emphasis of termsOf(language, 'emphasis')) {
      add('emphasis', `${minor}, ${emphasis} ${area}`);
    }
    return made;
  });
}

const ORDINARY = new Set(LANGUAGES.flatMap((language) => termsOf(language, 'neutral')));
const LATIN_WORD = /^[a-z]{4,}$/;

/** Plain prompts of each language, with the terms of a class in disguise. */
export function disguised(): Refusal[] {
  return LANGUAGES.flatMap((language) => {
    const code = language.code;
    const minor = plainTerm(language, 'minor');
    const nudity = plainTerm(language, 'nudity');
    return DISGUISES.flatMap(({ name, isForAll, write }) => {
      const made: Refusal[] = [];
      const add = (prompt: string) => made.push({ language: code, kind: name, prompt });
      for (const termClass of ['minor', 'nudity', 'suggestive', 'sexual'] as const) {
        for (const term of termsOf(language, termClass)) {
          if (!isForAll && !LATIN_WORD.test(term)) continue;
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
  return LANGUAGES.flatMap((one) =>
    LANGUAGES.map((other) => ({
      language: one.code,
      kind: `${one.code} and ${other.code}`,
      prompt: `${plainTerm(one, 'minor')}, ${plainTerm(other, 'nudity')}`,
    })),
  );
}
