import type { Judgement } from '../safety/judge.ts';
import type { ThreadOperation } from './operation.ts';

export interface JudgeOptions {
  readonly texts: readonly string[];
}

/** What the rules that guard prompts say, one for each text. */
export interface Judgements {
  readonly judgements: readonly Judgement[];
}

/** Judges texts that are so long that nobody else would be served meanwhile. */
export const judgeTexts: ThreadOperation<JudgeOptions> = {
  name: 'judge',
  async run(_input, { texts }) {
    // Only here: threads that never judge need not load the terms of all languages.
    const { judge } = await import('../safety/judge.ts');
    return { data: { judgements: texts.map(judge) } satisfies Judgements };
  },
};
