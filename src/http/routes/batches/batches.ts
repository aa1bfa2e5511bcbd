import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import type { BatchBody, BatchDocument, BatchKind } from '../../../batches/batch.ts';
import { ENDPOINTS, MESSAGES } from '../../../batches/input.ts';
import { checkedBody } from '../../../schema/body.ts';
import { field, integer, optional, withDefault } from '../../../schema/fields.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { idPageOf, idPageShape, seconds } from '../../request/query.ts';
import { readTags } from '../../request/tags.ts';
import { sendFile } from './files.ts';

const fileBatch = v.object({
  input_file_id: field(v.string(), 'A file of the purpose batch.'),
  endpoint: field(v.picklist(ENDPOINTS), 'The endpoint of all requests of the file.'),
  completion_window: field(v.literal('24h'), 'How long the batch may run.'),
  metadata: v.nullish(
    v.pipe(
      v.record(v.pipe(v.string(), v.maxLength(64)), v.pipe(v.string(), v.maxLength(512))),
      v.maxEntries(16),
    ),
  ),
});

const messageBatch = v.object({
  requests: field(
    v.array(v.object({ custom_id: v.string(), params: v.looseObject({}) })),
    'Up to 100,000 requests.',
  ),
});

const FILE_EXAMPLE = {
  input_file_id: 'file_0123456789ABCDEFGHIJ',
  ...{ endpoint: ENDPOINTS[0]!, completion_window: '24h' as const },
};

const MESSAGE = { role: 'user', content: 'Hello' };
const PARAMS = { model: 'sandbox-chat', max_tokens: 100, messages: [MESSAGE] };
const MESSAGES_EXAMPLE = { requests: [{ custom_id: 'first', params: PARAMS }] };

const query = v.object({
  limit: withDefault(integer(1, 1000), 20, 'elements of the page'),
  after: optional(v.string(), 'the id of the last element of the page before'),
  after_id: optional(v.string(), 'the same, as Anthropic names it'),
});

const answer = v.looseObject({ id: v.string() });

/** Batches as OpenAI and as Anthropic have them. */
export function textBatchRoutes(server: FastifyInstance, context: AppContext): void {
  const { batches, assets } = context;
  const tag = 'Batches';
  addEndpoint(server, {
    path: 'POST /v1/batches',
    ...{
      tag,
      summary: 'Run the requests in a file',
      body: v.pipe(fileBatch, v.examples([FILE_EXAMPLE])),
      answer,
    },
    description:
      'Every line is checked first: a batch with a fault has the status failed, and `errors` names line and field. ' +
      'At most 50,000 requests.',
    handler: async (request) => {
      const body = checkedBody(fileBatch, request.body);
      const { input_file_id: file, endpoint, metadata = null } = body;
      const batch = { endpoint, metadata, tags: readTags(request) };
      return openAiBatch(await batches.create(request.holder, file, batch));
    },
  });
  addEndpoint(server, {
    path: 'POST /v1/messages/batches',
    ...{
      tag,
      summary: 'Run many requests for messages',
      body: v.pipe(messageBatch, v.examples([MESSAGES_EXAMPLE])),
      answer,
    },
    handler: async (request) => {
      const { requests } = checkedBody(messageBatch, request.body);
      const batch = { endpoint: MESSAGES, metadata: null, tags: readTags(request) };
      const created = await batches.createInline(request.holder, requests, batch);
      return anthropicBatch(created, context.publicUrl);
    },
  });
  addEndpoint(server, {
    path: 'GET /v1/messages/batches/:batch_id/results',
    ...{ tag, summary: 'The results of a batch of messages, one a line', exposeHeadRoute: false },
    answer: {
      description: 'The results',
      content: { 'application/x-jsonl': { schema: { type: 'string' } } },
    },
    handler: async ({ holder, params }, reply) =>
      sendFile(assets, await batches.results(holder.account.id, params.batch_id), reply),
  });
  addEndpoint(server, {
    path: 'DELETE /v1/messages/batches/:batch_id',
    ...{ tag, summary: 'Delete an ended batch with its results', answer },
    handler: async ({ holder, params: { batch_id: id } }) => {
      await batches.remove('message_batch', holder.account.id, id);
      return { id, type: 'message_batch_deleted' };
    },
  });
  const shapes = [
    ['batch', '/v1/batches', openAiBatch],
    ['message_batch', '/v1/messages/batches', anthropicBatch],
  ] as const satisfies readonly (readonly [BatchKind, string, unknown])[];
  for (const [kind, path, show] of shapes) {
    const shown = (batch: BatchDocument) => show(batch, context.publicUrl);
    addEndpoint(server, {
      path: `GET ${path}`,
      ...{ tag, summary: 'Batches, newest first', query, answer: idPageShape(answer) },
      handler: async ({ holder, query: { limit, after, after_id: last = after } }) => {
        const page = await batches.list(kind, holder.account.id, limit, last);
        return idPageOf(page.documents.map(shown), page.hasMore);
      },
    });
    addEndpoint(server, {
      path: `GET ${path}/:batch_id`,
      ...{ tag, summary: 'A batch: its state and its counts', answer },
      handler: async ({ holder, params }) =>
        shown(await batches.find(kind, holder.account.id, params.batch_id)),
    });
    addEndpoint(server, {
      path: `POST ${path}/:batch_id/cancel`,
      ...{ tag, summary: 'Cancel a batch: requests that run are still answered', answer },
      handler: async ({ holder, params }) =>
        shown(await batches.cancel(kind, holder.account.id, params.batch_id)),
    });
  }
}

function openAiBatch({ id, createdAt, body }: BatchDocument) {
  const { status, endpoint, ended, outputs, fault, total, succeeded, failed } = body;
  const hasEnded = ended !== undefined;
  return {
    ...{ id, object: 'batch', endpoint, completion_window: '24h', metadata: body.metadata, status },
    errors: fault && { object: 'list', data: [fault] },
    input_file_id: body.inputFile,
    output_file_id: hasEnded ? outputs[0] : null,
    error_file_id: hasEnded ? outputs[1] : null,
    ...{ created_at: seconds(createdAt), in_progress_at: seconds(createdAt) },
    ...{ expires_at: seconds(body.expires), [`${status}_at`]: seconds(ended ?? createdAt) },
    ...(body.cancelling && { cancelling_at: seconds(body.cancelling) }),
    request_counts: { total, completed: succeeded, failed },
  };
}

function anthropicBatch({ id, createdAt, body }: BatchDocument, publicUrl: string) {
  const { status, total, succeeded, failed, ended, cancelling, expires } = body;
  const isOpen = ended === undefined;
  const unrun = (as: BatchBody['status']) => (status === as ? total - succeeded - failed : 0);
  const at = (time: number | undefined) => (time ? new Date(time).toISOString() : null);
  const counts = isOpen ? { succeeded: 0, errored: 0 } : { succeeded, errored: failed };
  return {
    ...{ id, type: 'message_batch', created_at: at(createdAt), expires_at: at(expires) },
    ...{ ended_at: at(ended), cancel_initiated_at: at(cancelling), archived_at: null },
    processing_status: isOpen ? (cancelling ? 'canceling' : 'in_progress') : 'ended',
    request_counts: {
      ...{ processing: isOpen ? total : 0, ...counts },
      ...{ canceled: unrun('cancelled'), expired: unrun('expired') },
    },
    results_url: isOpen ? null : `${publicUrl}/v1/messages/batches/${id}/results`,
  };
}
