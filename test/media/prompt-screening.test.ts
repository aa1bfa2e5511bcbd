import { expect, it, test } from 'vitest';
import {
  classifyTexts,
  preparePromptRules,
  screenPrompt,
} from '../../src/media/prompt-screening.ts';
import type { Job } from '../../src/operations/job.ts';
import { type ImagePool, inlinePool } from '../../src/operations/pool.ts';
import { checkPrompt } from '../../src/safety/check-prompt.ts';
import { classify } from '../../src/safety/classify.ts';
import { LANGUAGES } from '../safety/languages.ts';
import { plainTerm } from '../safety/refusals.ts';

const REFUSED = `A child, ${plainTerm(LANGUAGES[0]!, 'nudity')}. `;
const BENIGN = 'A child builds a castle of sand. ';
const LONGEST = 32_000;
const long = (text: string) => text.repeat(Math.floor(LONGEST / text.length));

class CountingPool implements ImagePool {
  readonly size = 1;
  readonly #inner = inlinePool(1);
  jobs = 0;

  async run(job: Job) {
    this.jobs += 1;
    return (await this.#inner).run(job);
  }

  async close() {
    await (await this.#inner).close();
  }
}

const dead: ImagePool = {
  size: 1,
  run: async () => ({
    ok: false,
    originalSize: 0,
    error: { code: 'worker_crashed', message: 'the thread died' },
  }),
  close: async () => {},
};

it.each([
  ['short', (text: string) => text, 0],
  ['long', long, 1],
])('screens prompts that are %s', async (_, write, jobs) => {
  const pool = new CountingPool();
  await expect(screenPrompt(pool, write(BENIGN), 'prompt')).resolves.toBeUndefined();
  expect(pool.jobs).toBe(jobs);
  const refusal = await screenPrompt(pool, write(REFUSED), 'prompt').catch((error) => error);
  expect(() => checkPrompt(REFUSED, 'prompt')).toThrow(refusal);
  expect(refusal).toMatchObject({ type: 'content_policy', status: 400, param: 'prompt' });
});

it.each([
  ['short', [BENIGN, REFUSED], 0],
  ['long together', [BENIGN, long(REFUSED), ''], 1],
])('classifies texts that are %s', async (_, texts, jobs) => {
  const pool = new CountingPool();
  expect(await classifyTexts(pool, texts)).toEqual(texts.map(classify));
  expect(pool.jobs).toBe(jobs);
});

test('a long prompt is screened in the pool', async () => {
  const failure = { type: 'service_error', code: 'text_not_judged', status: 503 };
  await expect(screenPrompt(dead, long(BENIGN), 'prompt')).rejects.toMatchObject(failure);
  await expect(classifyTexts(dead, [long(BENIGN)])).rejects.toMatchObject(failure);
});

test('preparePromptRules loads the rules in advance', async () => {
  await preparePromptRules(0);
  expect(await classifyTexts(dead, [BENIGN])).toMatchObject([{ flagged: false }]);
});
