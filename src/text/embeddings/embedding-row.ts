import { kindOf } from '../../config/providers/provider-kinds.ts';
import { invalid } from '../../schema/invalid.ts';
import type { Row, RowModel } from '../rows/row.ts';
import { type Embeddings, parseAnswer, writeEmbeddings } from './answer.ts';
import { FORMATS } from './formats.ts';
import { decodeEmbeddings, type EmbeddingsRequest, inputTokensOf } from './request.ts';
import { embedBySandbox } from './sandbox.ts';

/** OpenAI's embeddings. */
export const embeddingRow: Row<EmbeddingsRequest, Embeddings> = {
  type: 'embedding',
  decode: decodeEmbeddings,
  estimate(request, model) {
    checkTokens(request, model);
    return { tokens: inputTokensOf(request.items, model.contextWindow ?? Infinity) };
  },
  formatOf: (_, provider) => FORMATS[kindOf(provider).embeddings ?? 'openai'],
  parse: parseAnswer,
  answerBySandbox: embedBySandbox,
  write: (answer, _, model, { tokens }) => writeEmbeddings(answer, model, tokens),
};

/** @throws Failure for lists of more tokens, or vectors of more numbers, than the model has */
function checkTokens({ items, input, dimensions }: EmbeddingsRequest, model: RowModel): void {
  const { contextWindow: window } = model;
  const most = 'dimensions' in model ? model.dimensions : undefined;
  if (most !== undefined && dimensions !== null && dimensions > most) {
    throw invalid('dimensions', `expected at most ${most}, received ${dimensions}`);
  }
  if (window === undefined) return;
  const long = items.findIndex((item) => typeof item !== 'string' && item.length > window);
  if (long === -1) return;
  const path = items[long] === input ? 'input' : `input[${long}]`;
  throw invalid(path, `expected at most ${window} tokens, received ${items[long]!.length}`);
}
