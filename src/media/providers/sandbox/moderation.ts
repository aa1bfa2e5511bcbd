import { createHash } from 'node:crypto';
import { classifyTexts } from '../../../safety/prompt-screening.ts';
import type {
  ModerationAnswer,
  ModerationInput,
  ProviderContext,
} from '../../provider/provider.ts';
import { applyDirectives, expectModel } from './directives.ts';

/** Classifies texts by the rules for prompts. Ignores images. */
export async function moderate(
  input: ModerationInput,
  context: ProviderContext,
): Promise<ModerationAnswer> {
  expectModel(context, 'moderation');
  const texts = textsOf(input);
  await applyDirectives(texts.join('\n'), 'input', context.signal);
  const digest = createHash('sha256').update(JSON.stringify(texts)).digest('hex');
  const classifications = await classifyTexts(context.textThreads, texts, {
    signal: context.signal,
  });
  return {
    id: `modr-${digest.slice(0, 24)}`,
    model: context.model,
    results: classifications.map(({ flagged, categories, scores }) => ({
      flagged,
      categories,
      category_scores: scores,
    })),
  };
}

/** One text for each result; all parts make one. */
function textsOf(input: ModerationInput): string[] {
  if (typeof input === 'string') return [input];
  const texts = input.filter((item) => typeof item === 'string');
  if (texts.length === input.length && texts.length > 0) return texts;
  const parts = input.flatMap((item) =>
    typeof item !== 'string' && item.type === 'text' ? [item.text] : [],
  );
  return [parts.join('\n')];
}
