import type { Json } from '../canonical.ts';

/** The vectors of all items, in their order, in the encoding that the client asked for. */
export interface Embeddings {
  readonly vectors: readonly unknown[];
  /** The provider's own name of the model; null where it gave none. */
  readonly model: string | null;
  /** Tokens of the input; null where the provider reported none. */
  readonly tokens: number | null;
}

/** OpenAI's response. @param tokens those that were charged */
export function embeddingsBody({ vectors }: Embeddings, model: string, tokens: number): Json {
  return {
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}
