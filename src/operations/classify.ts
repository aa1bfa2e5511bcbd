import type { Classification } from '../safety/classify.ts';
import type { ThreadOperation } from './operation.ts';

export interface ClassifyOptions {
  readonly texts: readonly string[];
}

/** One classification for each text, by the rules that check prompts. */
export interface Classifications {
  readonly classifications: readonly Classification[];
}

/** Classifies texts that are so long that the main thread would be blocked. */
export const classifyTexts: ThreadOperation<ClassifyOptions> = {
  // A label in /metrics, which stays as it is.
  name: 'judge',
  async run(_input, { texts }) {
    // Imported here, so that threads load the terms of all languages only for this operation.
    const { classify } = await import('../safety/classify.ts');
    return { data: { classifications: texts.map(classify) } satisfies Classifications };
  },
};
