import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { embeddingsRequest } from '../../text/embeddings/request.ts';
import { TextReport } from '../../text/report.ts';
import type { AppContext } from '../app-context.ts';
import { disconnectSignal } from '../transport/client-disconnect.ts';

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
export function embeddingRoutes({ embeddings }: AppContext): FastifyPluginAsync {
  return async (server) => {
    server.post('/v1/embeddings', {
      schema: {
        summary: "Vectors of texts, in the shape of OpenAI's embeddings",
        tags: ['Text'],
        body,
        response: { 200: response },
      },
      config: { operation: 'embeddings' },
      handler: async (request, reply) => {
        const report = new TextReport(request.trace);
        request.textReport = report;
        const whole = await embeddings.answer({
          requestId: request.id,
          body: request.body,
          holder: request.holder,
          report,
          signal: disconnectSignal(reply),
        });
        return reply.type('application/json; charset=utf-8').send(`${whole}\n`);
      },
    });
  };
}
