import { COMMON_DIRECTIVES, obeyDirectives, readDirectives } from '../../routing/directives.ts';
import { tryParseJson } from '../../schema/json.ts';
import { countOf, listOf, objectOf } from '../../schema/untrusted.ts';
import { answerId } from '../../store/answer-identity.ts';
import { invalidAnswer } from '../dialects/answer-errors.ts';
import { textTokensOf } from '../embeddings/request.ts';
import { vectorOf, wordsOf } from '../embeddings/sandbox.ts';
import type { Estimate, Row, RowAnswer, RowFormat } from '../rows/row.ts';
import { countTokens } from '../sandbox/tokens.ts';
import { decodeRerank, type RerankRequest } from './request.ts';

interface Result {
  /** Place of the document in the request. */
  readonly index: number;
  readonly score: number;
}

interface Ranking extends RowAnswer {
  /** The best documents first. */
  readonly results: readonly Result[];
}

type RerankFormat = RowFormat<RerankRequest, Ranking>;

/** Cohere's format, which Jina, Voyage, vLLM and others share. */
const cohere: RerankFormat = {
  path: () => '/rerank',
  body: ({ query, texts, topN, maxTokensPerDocument, unknown }, model) => ({
    ...unknown,
    ...{ model, query, documents: texts },
    ...(topN !== null && { top_n: topN }),
    ...(maxTokensPerDocument !== null && { max_tokens_per_doc: maxTokensPerDocument }),
  }),
  read(request, { results, data, model, usage, meta }) {
    const { total_tokens: total, prompt_tokens: prompt } = objectOf(usage);
    const { search_units: searches, input_tokens: input } = objectOf(
      objectOf(meta)['billed_units'],
    );
    return {
      results: resultsIn(results ?? data, request),
      model: typeof model === 'string' ? model : null,
      tokens: countOf(total) ?? countOf(prompt) ?? countOf(input),
      searches: countOf(searches),
    };
  },
};

/** @throws Failure service_error for an answer that does not rank the documents */
function resultsIn(value: unknown, { texts, topN }: RerankRequest): readonly Result[] {
  const seen = new Set<number>();
  const results = listOf(value).map((entry) => {
    const { index, relevance_score: score } = objectOf(entry);
    const number = countOf(index);
    if (number === null || number >= texts.length || seen.has(number)) {
      throw invalidAnswer('a ranking with wrong numbers');
    }
    if (!Number.isFinite(score)) throw invalidAnswer('a ranking without scores');
    seen.add(number);
    return { index: number, score: score as number };
  });
  if (results.length === 0) throw invalidAnswer('no ranking');
  return best(results, topN);
}

const best = (results: readonly Result[], topN: number | null) =>
  results.toSorted((a, b) => b.score - a.score).slice(0, topN ?? results.length);

/** Tokens of a query and a document that count as one document of a search, and documents of a search, at Cohere. */
const TOKENS_OF_DOCUMENT = 500;
const DOCUMENTS_OF_SEARCH = 100;

function searchesOf(estimates: readonly Estimate[]): Estimate {
  const count = (by: keyof Estimate) =>
    Math.ceil(
      estimates.reduce((sum, one) => sum + Math.ceil(one[by] / TOKENS_OF_DOCUMENT), 0) /
        DOCUMENTS_OF_SEARCH,
    );
  return { likely: count('likely'), most: count('most') };
}

/** Dimensions of the sandbox's vectors. */
const DIMENSIONS = 256;

/** The ranking of documents by a query, in the shape of Cohere and Jina. */
export const rerankRow: Row<RerankRequest, Ranking> = {
  type: 'rerank',
  decode: decodeRerank,
  estimate({ query, texts }, { contextWindow: window = Infinity }) {
    // Rerankers read the query with each document.
    const asked = Buffer.byteLength(`${query}\n`);
    const pairs = texts.map((text) => textTokensOf(asked + Buffer.byteLength(text), window));
    const sum = (by: keyof Estimate) => pairs.reduce((total, one) => total + one[by], 0);
    return { tokens: { likely: sum('likely'), most: sum('most') }, searches: searchesOf(pairs) };
  },
  formatOf: () => cohere,
  parse: tryParseJson,
  async answerBySandbox({ query, texts, topN }, { model, deadline, signal }) {
    const directives = readDirectives([{ text: query, path: 'query' }], COMMON_DIRECTIVES);
    await obeyDirectives(directives, signal, deadline);
    const asked = vectorOf(wordsOf(query), DIMENSIONS);
    const results = texts.map((text, index) => {
      const vector = vectorOf(wordsOf(text), DIMENSIONS);
      const score = vector.reduce((sum, one, at) => sum + one * asked[at]!, 0);
      return { index, score: Math.max(0, Math.min(1, Math.fround(score))) };
    });
    const ofQuery = texts.length * countTokens(query);
    const tokens = texts.reduce((sum, text) => sum + countTokens(text), ofQuery);
    return { results: best(results, topN), model, tokens, searches: 1 };
  },
  write({ results }, { documents }, model, { tokens, searches }) {
    return JSON.stringify({
      ...{ id: answerId('rerank'), object: 'list', model },
      results: results.map(({ index, score }) => ({
        ...{ index, relevance_score: score },
        ...(documents !== null && { document: documents[index] }),
      })),
      // The AI SDK requires the count of an output that rankings do not have.
      usage: { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens },
      meta: { billed_units: { search_units: searches, input_tokens: tokens } },
    });
  },
};
