import { afterAll, expect, it, test } from 'vitest';
import { checkPrompt, classify } from '../../src/safety/classify.ts';
import {
  classifyTexts,
  preparePromptRules,
  screenPrompt,
} from '../../src/safety/prompt-screening.ts';
import { type TextJobs, TextThreads } from '../../src/threads/text-threads.ts';
import { ThreadLostError } from '../../src/threads/threads.ts';
import { plainTerm } from './refusals.ts';

const REFUSED = `A child, ${plainTerm('en', 'nudity')}. `;
const BENIGN = 'A child builds a castle of sand. ';
const LONGEST = 32_000;
const long = (text: string) => text.repeat(Math.floor(LONGEST / text.length));

const threads = new TextThreads(1);
afterAll(() => threads.close());

/** Runs jobs, and counts them. */
function counting() {
  const counted = {
    jobs: 0,
    run: ((...job) => {
      counted.jobs += 1;
      return threads.run(...job);
    }) as TextJobs['run'],
  };
  return counted;
}

const dead: TextJobs = {
  run: async () => {
    throw new ThreadLostError('the thread died', false);
  },
};

it.each([
  ['short', (text: string) => text, 0],
  ['long', long, 1],
])('screens prompts that are %s', async (_, write, expected) => {
  const jobs = counting();
  await expect(screenPrompt(jobs, write(BENIGN), 'prompt')).resolves.toBeUndefined();
  expect(jobs.jobs).toBe(expected);
  const refusal = await screenPrompt(jobs, write(REFUSED), 'prompt').catch((error) => error);
  expect(() => checkPrompt(REFUSED, 'prompt')).toThrow(refusal);
  expect(refusal).toMatchObject({ type: 'content_policy', status: 400, param: 'prompt' });
});

it.each([
  ['short', [BENIGN, REFUSED], 0],
  ['long together', [BENIGN, long(REFUSED), ''], 1],
])('classifies texts that are %s', async (_, texts, expected) => {
  const jobs = counting();
  expect(await classifyTexts(jobs, texts)).toEqual(texts.map(classify));
  expect(jobs.jobs).toBe(expected);
});

test('a long prompt is screened in a thread, and refused where that dies', async () => {
  const failure = { type: 'service_error', code: 'text_not_judged', status: 503 };
  await expect(screenPrompt(dead, long(BENIGN), 'prompt')).rejects.toMatchObject(failure);
  await expect(classifyTexts(dead, [long(BENIGN)])).rejects.toMatchObject(failure);
});

test('preparePromptRules loads the rules in advance', async () => {
  await preparePromptRules(0);
  expect(await classifyTexts(dead, [BENIGN])).toMatchObject([{ flagged: false }]);
});
