import { countOf, listOf, objectOf } from '../../schema/untrusted.ts';
import { invalidAnswer } from '../dialects/answer-errors.ts';
import { resourceOf } from '../dialects/gemini/model-names.ts';
import { invalid } from '../dialects/request-errors.ts';
import type { EmbeddingsFormat } from './format.ts';
import { vectorIn } from './vectors.ts';

/** Items of one request of Google's. */
const MAX_ITEMS = 100;

/** Google's batchEmbedContents, which takes texts. It has no field for the end user. */
export const geminiEmbeddings: EmbeddingsFormat = {
  path: (model) => `/${resourceOf({ model })}:batchEmbedContents`,
  body({ items, dimensions }, model) {
    if (items.length > MAX_ITEMS) {
      const message = `the gemini format takes at most ${MAX_ITEMS} items, received ${items.length}`;
      throw invalid('input', message);
    }
    if (items.some((item) => typeof item !== 'string')) {
      throw invalid('input', 'the gemini format has no lists of tokens; send texts');
    }
    return {
      requests: items.map((text) => ({
        model: resourceOf({ model }),
        content: { parts: [{ text }] },
        ...(dimensions !== null && { outputDimensionality: dimensions }),
      })),
    };
  },
  read({ items, encoding }, { embeddings, usageMetadata }) {
    const received = listOf(embeddings);
    if (received.length !== items.length) {
      throw invalidAnswer(`${received.length} embeddings for ${items.length} items`);
    }
    return {
      vectors: received.map((one) => vectorIn(encoding, objectOf(one)['values'])),
      model: null,
      tokens: countOf(objectOf(usageMetadata)['promptTokenCount']),
    };
  },
};
