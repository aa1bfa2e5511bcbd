import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { isObject } from '../../../schema/untrusted.ts';
import { TextReport } from '../../../text/canonical/report.ts';
import { embeddingsRequest } from '../../../text/embeddings/request.ts';
import { CACHE_HEADER } from '../../../text/execution/answer-cache.ts';
import { admissionOf, showCost, tokensOf } from '../../request/admission.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { readTags } from '../../request/tags.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';

const body = v.pipe(
  embeddingsRequest,
  v.examples([{ model: 'sandbox-embedding', input: 'Hello', dimensions: 8 }]),
);

const response = v.object({
  object: v.literal('list'),
  data: v.array(
    v.object({
      object: v.literal('embedding'),
      index: v.number(),
      embedding: v.union([v.array(v.number()), v.string()]),
    }),
  ),
  model: v.string(),
  usage: v.object({ prompt_tokens: v.number(), total_tokens: v.number() }),
});

/** Embeddings in OpenAI's shape. */
export function embeddingRoutes(server: FastifyInstance, context: AppContext): void {
  const { embeddings } = context;
  addEndpoint(server, {
    path: 'POST /v1/embeddings',
    // Of Azure's clients, whose bodies need not name the model.
    aliases: ['/openai/deployments/:model/embeddings'],
    tag: 'Text',
    summary: 'Create embeddings, as OpenAI does',
    config: { operation: 'embeddings' },
    body,
    answer: response,
    handler: async (request, reply) => {
      const report = new TextReport(request.trace, readTags(request));
      request.textReport = report;
      const admission = admissionOf(request, reply, context);
      const asked = embeddings.answer({
        requestId: request.id,
        body: named(request),
        headers: request.headers,
        holder: request.holder,
        report,
        signal: disconnectSignal(reply),
        admit: admission?.admit,
      });
      const whole = await asked.finally(() => admission?.end(tokensOf(report)));
      showCost(reply, report);
      if (report.cache !== null) reply.header(CACHE_HEADER, report.cache);
      reply.type('application/json; charset=utf-8');
      return `${whole}\n`;
    },
  });
}

/** The body with the model of the path, if that has one. */
function named({ body, params }: FastifyRequest): unknown {
  return isObject(body) && isObject(params) ? { ...body, ...params } : body;
}
