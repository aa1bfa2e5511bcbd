import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { isObject } from '../../../schema/untrusted.ts';
import { TextReport } from '../../../text/canonical/report.ts';
import { embeddingRow } from '../../../text/embeddings/embedding-row.ts';
import { GEMINI_ROWS } from '../../../text/embeddings/gemini-row.ts';
import { embeddingsRequest } from '../../../text/embeddings/request.ts';
import { CACHE_HEADER } from '../../../text/execution/answer-cache.ts';
import { IGNORED_HEADER } from '../../../text/execution/execution.ts';
import { rerankRequest } from '../../../text/rerank/request.ts';
import { rerankRow } from '../../../text/rerank/rerank-row.ts';
import type { Row, RowAnswer, RowRequest } from '../../../text/rows/row.ts';
import { admissionOf, showCost } from '../../request/admission.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { readTags } from '../../request/tags.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';

const embeddings = v.object({
  object: v.literal('list'),
  data: v.array(
    v.object({
      object: v.literal('embedding'),
      index: v.number(),
      embedding: v.union([v.array(v.number()), v.string()]),
    }),
  ),
  id: v.string(),
  model: v.string(),
  usage: v.object({ prompt_tokens: v.number(), total_tokens: v.number() }),
});

const ranking = v.looseObject({
  id: v.string(),
  model: v.string(),
  results: v.array(v.looseObject({ index: v.number(), relevance_score: v.number() })),
  usage: v.looseObject({ total_tokens: v.number() }),
});

/** Endpoints that answer whole, from what a model has read. */
export function rowRoutes(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'POST /v1/embeddings',
    // Of Azure's clients, whose bodies need not name the model.
    aliases: ['/openai/deployments/:model/embeddings'],
    tag: 'Text',
    summary: 'Create embeddings, as OpenAI does',
    config: { operation: 'embeddings' },
    body: v.pipe(
      embeddingsRequest,
      v.examples([{ model: 'sandbox-embedding', input: 'Hello', dimensions: 8 }]),
    ),
    answer: embeddings,
    handler: handlerOf(embeddingRow, context),
  });
  for (const { path, row, ...endpoint } of GEMINI_ROWS) {
    addEndpoint<string, never, object>(server, {
      ...endpoint,
      path: `POST ${path}`,
      tag: 'Text',
      params: v.object({ model: v.pipe(v.string(), v.examples(['sandbox-embedding'])) }),
      config: { operation: 'embeddings' },
      handler: handlerOf(row, context),
    });
  }
  addEndpoint(server, {
    path: 'POST /v1/rerank',
    aliases: ['/v2/rerank'],
    tag: 'Text',
    summary: 'Rank documents by a query, as Cohere and Jina do',
    config: { operation: 'rerank' },
    body: v.pipe(
      rerankRequest,
      v.examples([
        { model: 'sandbox-rerank', query: 'blue sky', documents: ['red soil', 'a blue sky'] },
      ]),
    ),
    answer: ranking,
    handler: handlerOf(rerankRow, context),
  });
}

function handlerOf<Request extends RowRequest, Answer extends RowAnswer>(
  row: Row<Request, Answer>,
  context: AppContext,
) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const report = new TextReport(request.trace, readTags(request));
    request.textReport = report;
    const admission = admissionOf(request, reply, context);
    const asked = context.rows.answer(row, {
      requestId: request.id,
      body: named(request),
      headers: request.headers,
      holder: request.holder,
      report,
      signal: disconnectSignal(reply),
      admit: admission?.admit,
      onIgnored: (paths) => {
        if (paths === null) reply.removeHeader(IGNORED_HEADER);
        else reply.header(IGNORED_HEADER, paths);
      },
    });
    const whole = await asked.finally(() => admission?.end(report.tokens));
    showCost(reply, report);
    if (report.cache !== null) reply.header(CACHE_HEADER, report.cache);
    reply.type('application/json; charset=utf-8');
    return `${whole}\n`;
  };
}

/** The body with the model of the path, if that has one. */
function named({ body, params }: FastifyRequest): unknown {
  return isObject(body) && isObject(params) ? { ...body, ...params } : body;
}
