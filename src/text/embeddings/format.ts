import type { Json } from '../canonical/canonical.ts';
import type { Embeddings } from './answer.ts';
import type { EmbeddingsRequest } from './request.ts';

/** How a provider is asked for embeddings. */
export interface EmbeddingsFormat {
  /** Path below the base URL. */
  path(model: string): string;
  /** @throws Failure invalid_request for a request that the format cannot express */
  body(request: EmbeddingsRequest, model: string): Json;
  /** @throws Failure service_error for an answer without a vector for each item */
  read(request: EmbeddingsRequest, answer: Json): Embeddings;
}
