import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { invalid } from '../../../schema/invalid.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type { Json } from '../../../text/canonical/canonical.ts';
import { dialectNamed } from '../../../text/dialects/registry.ts';
import { usageSchema } from '../../../text/dialects/usage.ts';
import { cannotCompact, compactingModel } from '../../../text/execution/model-routes.ts';
import {
  compactionOf,
  compactionRequest,
  summaryRequest,
} from '../../../text/stored/compaction.ts';
import { itemsOf, UnknownReference } from '../../../text/stored/history.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { storedOf, wholeBody } from './responses.ts';
import { answerText, type TextHttpRequest } from './text.ts';

const compaction = v.looseObject({
  id: v.string(),
  object: v.literal('response.compaction'),
  output: v.array(v.looseObject({ type: v.string() })),
  usage: usageSchema,
});

/** Replaces a conversation by a summary, which later requests send back in its place. */
export function compactionRoute(server: FastifyInstance, context: AppContext): void {
  const dialect = dialectNamed('responses');
  addEndpoint(server, {
    path: 'POST /v1/responses/compact',
    tag: 'Text',
    summary: 'Replace a conversation by its user messages and a summary',
    body: v.pipe(dialect.fields.schema, v.examples([dialect.endpoints[0]!.example])),
    answer: compaction,
    config: { operation: 'chat' },
    handler: async (request: TextHttpRequest, reply) => {
      // The conversation may be in an earlier response alone.
      if (isObject(request.body))
        request.body = { ...request.body, input: request.body['input'] ?? [] };
      dialect.decodeRequest(request.body);
      const whole = (await wholeBody(context, request).catch((error: unknown) => {
        // The provider may keep it.
        if (error instanceof UnknownReference) return request.body;
        throw error;
      })) as Json;
      const items = itemsOf(whole['input']);
      if (items.length === 0 && (whole['previous_response_id'] ?? null) === null) {
        throw invalid('input', 'expected a conversation, received none');
      }
      const address = { model: null, stream: false };
      const stored = storedOf(context, request.holder);
      const ask = async (body: Json, isCompaction: boolean) => {
        request.body = body;
        const answered = answerText(request, reply, context, dialect, address, { isCompaction });
        const answer = JSON.parse((await answered) as string) as Json;
        // The answer was charged, and would be again.
        reply.header('x-should-retry', 'false');
        return answer;
      };
      const asked: Json = { ...compactionRequest({ ...whole, input: items }), store: false };
      const model = compactingModel(asked, context.config, request.holder);
      let own: Json | null = null;
      if (model !== null) {
        own = await ask(asked, true).catch((error: unknown) => {
          if (!cannotCompact(model, error)) throw error;
          return null;
        });
      }
      const { output_text: _, ...compacted } =
        own ?? (await compactionOf(await ask(summaryRequest(whole, items), false), items, stored));
      if (context.config.responses.retention > 0) {
        const response = { ...compacted, status: 'completed' };
        const kept = stored.keep({ response, input: [], previous: null, conversation: null });
        // The client can send back the answer itself.
        await kept.catch(() => {});
      }
      return compacted as v.InferOutput<typeof compaction>;
    },
  });
}
