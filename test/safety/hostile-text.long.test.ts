import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Failure } from '../../src/failure.ts';
import { checkPrompt, classify } from '../../src/safety/classify.ts';
import { normalise } from '../../src/safety/normalise.ts';
import { LANGUAGE_CODES } from '../../src/safety/word-lists.ts';
import { wordsOf } from '../../src/safety/words.ts';
import { runs } from '../runs.ts';
import { BENIGN } from './prompts.ts';
import { termsOf } from './refusals.ts';

const TERMS = LANGUAGE_CODES.flatMap((code) => [
  ...termsOf(code, 'minor').slice(0, 6),
  ...termsOf(code, 'neutral').slice(0, 6),
  ...termsOf(code, 'nudity').slice(0, 6),
  ...termsOf(code, 'negation').slice(0, 3),
]);

/** Any text, lone surrogates included, and texts made of terms, marks and ages. */
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 200 })
    .map((codes) => String.fromCharCode(...codes)),
  fc
    .array(
      fc.oneof(
        fc.constantFrom(...TERMS),
        fc.constantFrom(' ', '. ', ', ', '-', '*', '12', '十', 'years old'),
      ),
      {
        maxLength: 60,
      },
    )
    .map((parts) => parts.join(' ')),
);

test('checkPrompt throws only its refusal, for any text', () => {
  fc.assert(
    fc.property(text, (prompt) => {
      try {
        checkPrompt(prompt, 'prompt');
      } catch (error) {
        expect(error).toBeInstanceOf(Failure);
      }
    }),
    { numRuns: runs(1500) },
  );
});

test('normalise is idempotent', () => {
  fc.assert(
    fc.property(text, (prompt) => {
      const once = normalise(prompt);
      expect(normalise(once)).toBe(once);
    }),
    { numRuns: runs(20_000) },
  );
});

test('checkPrompt and classify agree', () => {
  fc.assert(
    fc.property(text, (prompt) => {
      const { categories, flagged, scores } = classify(prompt);
      let isRefused = false;
      try {
        checkPrompt(prompt, 'prompt');
      } catch {
        isRefused = true;
      }
      expect(categories['sexual/minors']).toBe(isRefused);
      if (isRefused) expect(flagged).toBe(true);
      for (const score of Object.values(scores)) expect(score >= 0 && score <= 1).toBe(true);
    }),
    { numRuns: runs(500) },
  );
});

describe('prompts of 100,000 characters are classified', () => {
  const LENGTH = 100_000;
  const fill = (part: string) => part.repeat(Math.ceil(LENGTH / part.length)).slice(0, LENGTH);
  it.each(
    Object.entries({
      'one letter': 'a',
      'spaced letters': 'a ',
      'dotted letters': 'n.u.',
      stars: '*a',
      marks: '.,',
      signs: '@$!|',
      digits: '12',
      ages: '12 years old ',
      'a minor over and over': 'child ',
      'a negation over and over': 'no ',
      'an exposure over and over': 'bare ',
      'negations before one list': 'nor s ',
      'many owners of one body': 'child man bare chest ',
      'one character of several meanings': '裸',
      'both, negated': 'child, no nude or ',
      art: 'nude statue ',
      'areas and exposures': 'chest bare. ',
      'ligatures that unfold': '\ufdfa',
      'combining marks': 'a\u0301\u0323',
      Han: '裸足の子供と',
      Katakana: 'ヌ',
      Hangul: '아이들의',
      Devanagari: 'बच्चे ',
      Arabic: 'والأطفال ',
      emoji: '👧🏽‍👦',
      'lone surrogates': '\ud800',
      'mixed scripts': 'aа',
      'letters and bars': 'a|',
      'letters and pictures': 'a❤',
      'letters and line ends': 'a\n',
      'letters and changing separators': 'a.b-',
      'alternating letters': 'axbxcx',
      'percent signs': '%25',
      'escaped bytes': '%6e',
      'escaped ampersands': '&amp;',
      'beginnings of entities': '&#0',
      'beginnings of escapes': '\\u{0',
      'beginnings of tags': '</a',
      'beginnings of comments': '<!--',
      'marks without letters': '\u0489',
      'a long word that begins harmlessly': 'nacktmull',
    }),
  )('%s', (_, part) => {
    const prompt = fill(part);
    expect(wordsOf(prompt).length).toBeLessThanOrEqual(LENGTH * 18);
    expect(classify(prompt).categories).toHaveProperty(['sexual/minors']);
  });
});

test('time grows linearly with the length of any repeated text', () => {
  const unit = fc
    .array(
      fc.constantFrom(
        ...['a', 'b', '1', ' ', '.', '..', ',', '|', '+', '*', '%', '25', '6e', '&', 'amp;', '#'],
        ...['x', ';', '\\', 'u', '{', '<', '!--', '>', '\n', '❤', '\u0489', '\u0301', '裸', 'ก็'],
      ),
      { minLength: 1, maxLength: 4 },
    )
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(unit, unit, unit, (start, middle, end) => {
      // A pattern that backtracks over a repetition would take exponential time.
      classify(start + middle.repeat(20_000) + end);
    }),
    {
      numRuns: 60,
      examples: [
        ['a', '.', ' '],
        ['a', '..', ','],
        ['a', '❤.', '\n'],
      ],
    },
  );
});

test('classify distinguishes adults from minors and returns all categories', () => {
  const adult = classify('A woman, nude');
  expect(adult.flagged).toBe(true);
  expect(adult.categories).toMatchObject({ sexual: true, 'sexual/minors': false });
  expect(classify(BENIGN['family']![0]!)).toMatchObject({ flagged: false });
  expect(classify('a massacre').categories).toMatchObject({ violence: true, sexual: false });
  expect(Object.keys(adult.categories)).toEqual(Object.keys(adult.scores));
  expect(Object.keys(adult.categories)).toHaveLength(13);
});
