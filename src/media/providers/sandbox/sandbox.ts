import { createHash } from 'node:crypto';
import { classifyTexts } from '../../../safety/prompt-screening.ts';
import type {
  MediaProvider,
  ModerationAnswer,
  ModerationInput,
  ProviderContext,
} from '../../provider/provider.ts';
import { AUDIO_FORMATS, makeAudio } from './audio.ts';
import { applyDirectives, expectModel } from './directives.ts';
import { makeImages, makeVideo } from './images.ts';
import { transcribe } from './transcription.ts';

/** Makes media in this process; the same job always gives the same output. */
export const sandboxProvider: MediaProvider = {
  imageFields: ['output_format', 'output_compression'],
  audioFormats: AUDIO_FORMATS,
  advice: { image: ['seed'], video: ['seed'], audio: ['seed'] },
  makeImages,
  makeVideo,
  makeAudio,
  moderate,
  transcribe,
};

/** Classifies texts by the rules for prompts. Ignores images. */
async function moderate(
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
