import * as v from 'valibot';
import { checkedBody, unknownFields } from '../../schema/body.ts';
import { choice, openObject } from '../../schema/choice.ts';
import { field, integer, nullish } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { isObject } from '../../schema/untrusted.ts';
import { checkedText } from '../embeddings/request.ts';
import type { RowRequest } from '../rows/row.ts';

/** Documents of one request, as at Cohere. */
const MAX_DOCUMENTS = 1000;

const DOCUMENTS = `a list of 1 to ${MAX_DOCUMENTS} texts or objects`;

/** Cohere's and Jina's request for a ranking. */
export const rerankRequest = openObject({
  model: field(v.pipe(v.string(), v.nonEmpty()), 'A model of type rerank.', {
    expects: "a model's name",
  }),
  query: field(v.pipe(v.string(), v.nonEmpty()), 'What the documents are compared with.'),
  documents: field(
    choice(
      DOCUMENTS,
      [v.array(v.string()), v.array(v.looseObject({}))],
      () => v.unknown() as never,
    ),
    'What is ranked. Of an object its text is read, or all of its fields if it has none.',
    { expects: DOCUMENTS },
  ),
  top_n: nullish(integer(1), 'Most results in the answer; all by default.'),
  return_documents: nullish(v.boolean(), 'Whether results have their documents.'),
  max_tokens_per_doc: nullish(
    integer(1),
    'Tokens of each document that are read, where the provider can choose.',
  ),
});

/** A checked request. */
export interface RerankRequest extends RowRequest {
  readonly query: string;
  /** The documents as texts. */
  readonly texts: readonly string[];
  /** The documents as objects, which the answer returns; null where it does not. */
  readonly documents: readonly object[] | null;
  readonly topN: number | null;
  readonly maxTokensPerDocument: number | null;
}

/** @throws Failure invalid_request, `param` naming the field by its path */
export function decodeRerank(value: unknown): RerankRequest {
  const body = checkedBody(rerankRequest, value);
  const documents: unknown = body.documents;
  if (!Array.isArray(documents) || documents.length === 0 || documents.length > MAX_DOCUMENTS) {
    const received = Array.isArray(documents) ? `${documents.length}` : 'something else';
    throw invalid('documents', `expected ${DOCUMENTS}, received ${received}`);
  }
  return {
    model: body.model,
    query: checkedText(body.query, 'query'),
    texts: documents.map((one, index) => checkedText(textOf(one), `documents[${index}]`)),
    documents: body.return_documents
      ? documents.map((one) => (typeof one === 'string' ? { text: one } : one))
      : null,
    topN: body.top_n ?? null,
    maxTokensPerDocument: body.max_tokens_per_doc ?? null,
    unknown: unknownFields(rerankRequest, body),
  };
}

/** Fields of an object as lines of YAML, which Cohere recommends. */
function textOf(document: unknown): unknown {
  if (!isObject(document)) return document;
  const { text } = document as { readonly text?: unknown };
  if (typeof text === 'string') return text;
  const lines = Object.entries(document).map(([name, value]) => {
    return `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  return lines.join('\n');
}
