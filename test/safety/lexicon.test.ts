import { expect, test } from 'vitest';
import { lexicon, prepareLexicon } from '../../src/safety/lexicon.ts';
import { isRefused } from '../../src/safety/verdict.ts';
import { LANGUAGE_CODES } from '../../src/safety/word-lists.ts';
import { plainTerm } from './refusals.ts';

test('a prompt during the compilation of the terms is checked against all of them', async () => {
  const prepared = prepareLexicon();
  const last = LANGUAGE_CODES.at(-1)!;
  const prompt = `${plainTerm(last, 'minor')}, ${plainTerm(last, 'nudity')}`;
  expect(isRefused(prompt)).toBe(true);
  const compiled = lexicon();
  await prepared;
  expect(lexicon()).toBe(compiled);
  expect(isRefused(prompt)).toBe(true);
});
