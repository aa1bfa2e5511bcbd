import {
  LANGUAGE_CODES,
  type LanguageCode,
  type LanguageTerms,
  languageTerms,
} from '../../src/safety/word-lists.ts';

export interface Language {
  readonly code: LanguageCode;
  readonly terms: LanguageTerms;
}

export const LANGUAGES: readonly Language[] = LANGUAGE_CODES.map((code) => ({
  code,
  terms: languageTerms(code),
}));
