import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import * as v from 'valibot';
import { isObject } from '../../../schema/untrusted.ts';
import { TextReport } from '../../../text/canonical/report.ts';
import { embeddingsRequest } from '../../../text/embeddings/request.ts';
import type { AppContext } from '../../request/app-context.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import type { TextHttpRequest } from './text.ts';

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
    const schema = {
      summary: "Vectors of texts, in the shape of OpenAI's embeddings",
      tags: ['Text'],
      body,
      response: { 200: response },
    };
    const config = { operation: 'embeddings' } as const;
    const handler = async (request: TextHttpRequest, reply: FastifyReply) => {
      const report = new TextReport(request.trace);
      request.textReport = report;
      const whole = await embeddings.answer({
        requestId: request.id,
        body: named(request),
        holder: request.holder,
        report,
        signal: disconnectSignal(reply),
      });
      reply.type('application/json; charset=utf-8');
      return `${whole}\n`;
    };
    server.post('/v1/embeddings', { schema, config, handler });
    // Of Azure's clients, whose bodies need not name the model.
    server.post('/openai/deployments/:model/embeddings', { config, handler });
  };
}

/** The body with the model of the path, if that has one. */
function named({ body, params: { model } }: TextHttpRequest): unknown {
  return model !== undefined && isObject(body) ? { ...body, model } : body;
}
