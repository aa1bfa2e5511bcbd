import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import {
  filterOf,
  ownerConditions,
  ownerFilter,
  ownerRequestDetail,
  requestConditions,
  requestDetail,
  requestDetailOf,
  requestRecord,
} from '../../../administration/request-records.ts';
import { noRequest } from '../../../administration/requests.ts';
import { withDefault } from '../../../schema/fields.ts';
import {
  meets,
  ownerRequestShape,
  type RequestFilter,
  type RequestRecord,
  requestShape,
} from '../../../store/requests/record.ts';
import type { RequestPage } from '../../../store/requests/request-log.ts';
import type { Store } from '../../../store/store.ts';
import { EVENT_STREAM } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { streamEvents } from '../../request/event-stream.ts';
import { pageLimit, pageShape } from '../../request/query.ts';

/** Route of sign-ins. */
const SIGN_IN = '/v1/session';

const signIns = withDefault(v.boolean(), true, 'false leaves out the sign-ins of browsers');

const { after: _, ...liveConditions } = requestConditions;
const { after: __, ...ownerLiveConditions } = ownerConditions;

const accountQuery = v.strictObject({ ...requestConditions, limit: pageLimit });
const ownerQuery = v.strictObject({ ...ownerConditions, sign_ins: signIns, limit: pageLimit });
const liveQuery = v.strictObject(liveConditions);
const ownerLiveQuery = v.strictObject({ ...ownerLiveConditions, sign_ins: signIns });

const requestPage = <const Shape extends v.GenericSchema>(shape: Shape) =>
  v.object({
    ...pageShape(shape).entries,
    next: v.pipe(v.nullable(v.number()), v.description('`after` of the next page')),
  });

function pageOf<Shown>({ records, next }: RequestPage, show: (request: RequestRecord) => Shown) {
  return { object: 'list' as const, data: records.map(show), has_more: next !== null, next };
}

const DESCRIPTION =
  'POST requests that have ended, of the time of `requests.retention`, without bodies. A search takes a second at ' +
  'most: a page may be short, or empty, although `has_more` is true.';

const LIVE =
  'Each event `request` has a request that has just ended, as the list has it. Ends when the server drains.';

/** Streams requests as they end. */
const liveSource = (
  store: Store,
  filter: RequestFilter,
  show: (request: RequestRecord) => object,
): Parameters<typeof streamEvents>[3] => ({
  begin: async (send) => send('event: open\ndata: {"type":"open"}\n\n'),
  subscribe: (send) =>
    store.requests.follow((record) => {
      if (!meets(record, filter)) return;
      send(`event: request\ndata: ${JSON.stringify(show(record))}\n\n`);
    }),
});

/** The requests of the key's account, without the names of providers. */
export function requestRoutes(server: FastifyInstance, context: AppContext): void {
  const { store } = context;
  const { requests } = store;
  addEndpoint(server, {
    path: 'GET /v1/requests',
    tag: 'Account',
    summary: "The account's requests with status, latency, tokens and credits, newest first",
    description: DESCRIPTION,
    query: accountQuery,
    answer: requestPage(requestShape),
    handler: async ({ holder, query }) => {
      const { limit, after, ...conditions } = query;
      const accountId = holder.account.id;
      const filter = { ...filterOf(conditions), accountId };
      return pageOf(await requests.query(filter, { limit, after }, accountId), requestRecord);
    },
  });
  addEndpoint(server, {
    path: 'GET /v1/requests/events',
    tag: 'Account',
    summary: "The account's requests, live, as server-sent events",
    description: LIVE,
    query: liveQuery,
    answer: { description: 'The events', content: EVENT_STREAM },
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const filter = { ...filterOf(request.query), accountId: request.holder.account.id };
      await streamEvents(context, request, reply, liveSource(store, filter, requestRecord));
      return reply;
    },
  });
  addEndpoint(server, {
    path: 'GET /v1/requests/:id',
    tag: 'Account',
    summary: 'One request with its attempts, and its bodies if they were kept',
    answer: requestDetail,
    handler: async ({ holder, params: { id } }) => {
      const found = await requests.find(id, holder.account.id);
      if (found === undefined) throw noRequest(id);
      return requestDetailOf(found, await requests.bodiesOf(found));
    },
  });
  addEndpoint(server, {
    path: 'DELETE /v1/requests/:id/bodies',
    tag: 'Account',
    summary: 'Delete the bodies of a request for good',
    answer: v.object({ removed: v.number() }),
    handler: async ({ holder, params: { id } }) => {
      const accountId = holder.account.id;
      if (!(await requests.find(id, accountId))) throw noRequest(id);
      return { removed: await requests.remove({ accountId, id }, true) };
    },
  });
}

/** Requests of one part of an export. */
const EXPORT_PART = 500;

/** The requests of all accounts. */
export function ownerRequestRoutes(server: FastifyInstance, context: AppContext): void {
  const { store } = context;
  const { requests } = store;
  const filterFor = async ({
    sign_ins: withSignIns,
    ...conditions
  }: v.InferOutput<typeof ownerLiveQuery>): Promise<RequestFilter> => ({
    ...(await ownerFilter(store, conditions)),
    ...(!withSignIns && { exceptRoute: SIGN_IN }),
  });
  addEndpoint(server, {
    path: 'GET /v1/admin/requests',
    tag: 'Administration',
    summary: 'Requests of all accounts, newest first; for keys of the account owner',
    description: DESCRIPTION,
    query: ownerQuery,
    answer: requestPage(ownerRequestShape),
    handler: async ({ query: { limit, after, ...conditions } }) =>
      pageOf(
        await requests.query(await filterFor(conditions), { limit, after }),
        (record) => record,
      ),
  });
  addEndpoint(server, {
    path: 'GET /v1/admin/requests/events',
    tag: 'Administration',
    summary: 'Requests of all accounts, live, as server-sent events; for keys of the account owner',
    description: LIVE,
    query: ownerLiveQuery,
    answer: { description: 'The events', content: EVENT_STREAM },
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const filter = await filterFor(request.query);
      await streamEvents(
        context,
        request,
        reply,
        liveSource(store, filter, (record) => record),
      );
      return reply;
    },
  });
  addEndpoint(server, {
    path: 'GET /v1/admin/requests/export',
    tag: 'Administration',
    summary: 'All requests that match as lines of JSON; for keys of the account owner',
    query: ownerLiveQuery,
    answer: {
      description: 'A line for each request, newest first',
      content: { 'application/jsonl': { schema: { type: 'string' } } },
    },
    exposeHeadRoute: false,
    handler: async ({ query }, reply) => {
      const filter = await filterFor(query);
      reply.type('application/jsonl; charset=utf-8');
      return reply.send(Readable.from(exported(store, filter)));
    },
  });
  addEndpoint(server, {
    path: 'GET /v1/admin/requests/:id',
    tag: 'Administration',
    summary: 'One request of any account with its attempts at providers, and its bodies if kept',
    answer: ownerRequestDetail,
    handler: async ({ params: { id } }) => {
      const found = await requests.find(id);
      if (found === undefined) throw noRequest(id);
      return { ...found, bodies: (await requests.bodiesOf(found)) ?? null };
    },
  });
}

async function* exported({ requests }: Store, filter: RequestFilter): AsyncGenerator<string, void> {
  for (let after: number | null = Infinity; after !== null; ) {
    const page: RequestPage = await requests.query(filter, { limit: EXPORT_PART, after });
    if (page.records.length > 0) {
      yield page.records.map((record) => `${JSON.stringify(record)}\n`).join('');
    }
    after = page.next;
  }
}
