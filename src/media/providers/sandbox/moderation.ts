import { createHash } from 'node:crypto';
import { classifyTexts } from '../../prompts.ts';
import type { ModerationAnswer, ModerationInput, Workshop } from '../provider.ts';
import { expectModel, obey } from './prompt.ts';

/** Judges texts by the rules that guard prompts. Of images it sees nothing. */
export async function moderate(
  input: ModerationInput,
  workshop: Workshop,
): Promise<ModerationAnswer> {
  expectModel(workshop, 'moderation');
  const texts = textsOf(input);
  await obey(texts.join('\n'), 'input', workshop.signal);
  const digest = createHash('sha256').update(JSON.stringify(texts)).digest('hex');
  const classifications = await classifyTexts(workshop.pool, texts, { signal: workshop.signal });
  return {
    id: `modr-${digest.slice(0, 24)}`,
    model: workshop.model,
    results: classifications.map(({ flagged, categories, scores }) => ({
      flagged,
      categories,
      category_scores: scores,
    })),
  };
}

/** One for each result: parts are of one thing. */
function textsOf(input: ModerationInput): string[] {
  if (typeof input === 'string') return [input];
  const texts = input.filter((one) => typeof one === 'string');
  if (texts.length === input.length && texts.length > 0) return texts;
  const parts = input.flatMap((one) =>
    typeof one !== 'string' && one.type === 'text' ? [one.text] : [],
  );
  return [parts.join('\n')];
}
