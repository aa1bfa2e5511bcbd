import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TERM_CLASSES } from '../../src/safety/terms.ts';
import { ageWords, LANGUAGE_CODES, languageTerms } from '../../src/safety/word-lists.ts';
import { ROOT } from '../oriel.ts';

/** Words separated by single spaces, each with an optional `*` at its end; `~` at most at the start. */
const TERM = /^~?[^\s,*~]+\*?( [^\s,*~]+\*?)*$/u;

describe('config/safety', () => {
  it('has one file for each language and one for ages', () => {
    const files = readdirSync(join(ROOT, 'config', 'safety'));
    const expected = [...LANGUAGE_CODES, 'ages'].map((name) => `${name}.json`);
    expect(files.toSorted()).toEqual(expected.toSorted());
  });

  it.each(LANGUAGE_CODES)('%s.json lists well-formed terms under known classes', (code) => {
    const lists = Object.entries(languageTerms(code));
    expect(TERM_CLASSES).toEqual(expect.arrayContaining(lists.map(([name]) => name)));
    const malformed = lists.flatMap(([name, terms]) =>
      terms.filter((term) => !TERM.test(term)).map((term) => `${name}: ${term}`),
    );
    expect(malformed).toEqual([]);
  });

  it('ages.json names the numbers from 1 to 17 in every language that it has', () => {
    for (const [language, names] of Object.entries(ageWords().numbers)) {
      expect(names, language).toHaveLength(17);
    }
  });
});
