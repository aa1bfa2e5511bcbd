import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { codedFailure, type Failure } from '../../../failure.ts';
import { integer, optional, withDefault } from '../../../schema/fields.ts';
import { isObject } from '../../../schema/untrusted.ts';
import type { Document } from '../../../store/document.ts';
import type { KeyHolder } from '../../../store/store.ts';
import type { Json } from '../../../text/canonical/canonical.ts';
import {
  isContinuing,
  rebuild,
  type StoredResponse,
  shownItem,
} from '../../../text/stored/history.ts';
import { StoredResponses } from '../../../text/stored/stored-responses.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { deletedShape, idPageOf, idPageShape } from '../../request/query.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { sendEvents } from '../../transport/sse-response.ts';

export const item = v.looseObject({ id: v.string(), type: v.string() });
const response = v.looseObject({ id: v.string(), object: v.literal('response') });

const streamQuery = v.object({
  stream: optional(v.boolean(), 'whether the answer is a stream of its events'),
  starting_after: optional(integer(0), 'sequence number of the last known event'),
});

export const itemQuery = v.object({
  limit: withDefault(integer(1, 100), 20, 'items of the page'),
  order: withDefault(v.picklist(['asc', 'desc']), 'desc', 'the oldest or the newest first'),
  after: optional(v.string(), 'the id of the last item of the page before'),
});

export const itemList = idPageShape(item);

/** A page of items. */
export const itemsOf = (data: readonly Json[], hasMore: boolean) =>
  idPageOf(data as readonly v.InferOutput<typeof item>[], hasMore);

export const storedOf = ({ store, config }: AppContext, { account }: KeyHolder) =>
  new StoredResponses(store, account.id, config);

export function unknown(what: string, id: string, param: string): Failure {
  const message = `there is no ${what} ${JSON.stringify(id)}`;
  return codedFailure('document_not_found', message, { param });
}

/** Stored responses, in OpenAI's shape. */
export function responseRoutes(server: FastifyInstance, context: AppContext): void {
  const { store, background } = context;
  const path = '/v1/responses/:response_id' as const;

  addEndpoint(server, {
    path: `GET ${path}`,
    tag: 'Text',
    summary: 'A stored response; with stream, its events',
    query: streamQuery,
    answer: response,
    handler: async (request, reply) => {
      const { holder, params, query } = request;
      const document = await found(context, holder, params.response_id);
      if (!query.stream) return shown(document) as v.InferOutput<typeof response>;
      const after = query.starting_after ?? -1;
      const events = background.follow(document, after, disconnectSignal(reply));
      return sendEvents(request, reply, events);
    },
  });

  addEndpoint(server, {
    path: `POST ${path}/cancel`,
    tag: 'Text',
    summary: 'Cancel a response in the background',
    answer: response,
    handler: async ({ holder, params }) => {
      const document = await found(context, holder, params.response_id);
      return (await background.cancel(document)) as v.InferOutput<typeof response>;
    },
  });

  addEndpoint(server, {
    path: `DELETE ${path}`,
    tag: 'Text',
    summary: 'Delete a stored response',
    answer: deletedShape('response'),
    handler: async ({ holder, params: { response_id: id } }) => {
      const key = storedOf(context, holder).key('response', id);
      if (!(await store.documents.remove(key))) throw unknown('response', id, 'response_id');
      return { id, object: 'response' as const, deleted: true as const };
    },
  });

  addEndpoint(server, {
    path: `GET ${path}/input_items`,
    tag: 'Text',
    summary: 'The input of a stored response',
    query: itemQuery,
    answer: itemList,
    handler: async ({ holder, params: { response_id: id }, query: { limit, order, after } }) => {
      const { input } = (await found(context, holder, id)).body as StoredResponse;
      const items = input.map((one, at) => withId(one, id, at));
      if (order === 'desc') items.reverse();
      const start = after === undefined ? 0 : items.findIndex((one) => one['id'] === after) + 1;
      if (after !== undefined && start === 0) throw unknown('item', after, 'after');
      return itemsOf(items.slice(start, start + limit), items.length > start + limit);
    },
  });
}

/** The body of a request with the conversation that it continues. @throws Failure for an unknown one */
export async function wholeBody(
  context: AppContext,
  { body, holder }: { readonly body: unknown; readonly holder: KeyHolder },
): Promise<unknown> {
  if (!isObject(body)) return body;
  const { previous_response_id: _, conversation: __, ...others } = body;
  if (!isContinuing(body)) return body;
  const most = context.config.server.bodyLimit;
  const { input } = await rebuild(body, storedOf(context, holder), most);
  return { ...others, input };
}

async function found(context: AppContext, holder: KeyHolder, id: string): Promise<Document> {
  const document = await storedOf(context, holder).find('response', id);
  if (document) return document;
  throw unknown('response', id, 'response_id');
}

const shown = ({ body }: Document) => (body as StoredResponse).response;

/** An item of an input, whose identifier follows from the response's where the client has sent none. */
function withId(one: Json, response: string, at: number): Json {
  const kind = one['role'] === undefined ? 'item' : 'msg';
  const own = one['id'];
  return shownItem(
    one,
    typeof own === 'string' ? own : `${kind}_${response.replace(/^resp_/, '')}_${at}`,
  );
}
