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
import { field, withDefault } from '../../../schema/fields.ts';
import {
  meets,
  ownerRequestShape,
  type RequestFilter,
  type RequestRecord,
  requestShape,
} from '../../../store/requests/record.ts';
import type { RequestPage } from '../../../store/requests/request-log.ts';
import type { KeyHolder, Store } from '../../../store/store.ts';
import { EVENT_STREAM } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { streamEvents } from '../../request/event-stream.ts';
import { pageLimit, pageShape } from '../../request/query.ts';

/** Route of sign-ins. */
const SIGN_IN = '/v1/session';

const signIns = withDefault(v.boolean(), true, 'false leaves out the sign-ins of browsers');
const ownerQuery = v.strictObject({ ...ownerConditions, sign_ins: signIns, limit: pageLimit });

type Query = Partial<v.InferOutput<typeof ownerQuery>>;

/** The requests that a caller may see. */
interface Scope {
  readonly path: '/v1/requests' | '/v1/admin/requests';
  readonly tag: string;
  /** Begins the summary of endpoints. */
  readonly whose: string;
  readonly conditions: v.ObjectEntries;
  readonly shape: v.GenericSchema;
  readonly detailShape: v.GenericSchema;
  filterFor(store: Store, query: Query, holder: KeyHolder): Promise<RequestFilter>;
  /** @param request as it is kept */
  show(request: RequestRecord): object;
  detail(
    request: RequestRecord,
    bodies: Awaited<ReturnType<Store['requests']['bodiesOf']>>,
  ): object;
}

/** The requests of the key's account, without the names of providers. */
const OWN: Scope = {
  path: '/v1/requests',
  tag: 'Account',
  whose: "The account's requests",
  conditions: requestConditions,
  shape: requestShape,
  detailShape: requestDetail,
  filterFor: async (_store, query, { account }) => ({ ...filterOf(query), accountId: account.id }),
  show: requestRecord,
  detail: requestDetailOf,
};

const ALL: Scope = {
  path: '/v1/admin/requests',
  tag: 'Administration',
  whose: 'Requests of all accounts, for keys of the account owner',
  conditions: { ...ownerConditions, sign_ins: signIns },
  shape: ownerRequestShape,
  detailShape: ownerRequestDetail,
  filterFor: async (store, { sign_ins: withSignIns, ...query }) => ({
    ...(await ownerFilter(store, query)),
    ...(withSignIns === false && { exceptRoute: SIGN_IN }),
  }),
  show: (request) => request,
  detail: (request, bodies) => ({ ...request, bodies: bodies ?? null }),
};

const DESCRIPTION =
  'POST requests that have ended, of the time of `requests.retention`, without bodies. A search takes a second at ' +
  'most: a page may be short, or empty, although `has_more` is true.';

/** Adds the list, the events and the details of requests. */
function scopeRoutes(server: FastifyInstance, context: AppContext, scope: Scope): void {
  const { store } = context;
  const { requests } = store;
  const { path, tag, whose, conditions, shape, detailShape, filterFor, show, detail } = scope;
  const { after: _, ...live } = conditions;
  addEndpoint(server, {
    path: `GET ${path}`,
    tag,
    summary: `${whose}, with status, latency, tokens and credits, newest first`,
    description: DESCRIPTION,
    query: v.strictObject({ ...conditions, limit: pageLimit }),
    answer: v.object({
      ...pageShape(shape).entries,
      next: field(v.nullable(v.number()), '`after` of the next page'),
    }),
    handler: async ({ holder, query }) => {
      const { limit, after, ...rest } = query as v.InferOutput<typeof ownerQuery>;
      const filter = await filterFor(store, rest, holder);
      const { records, next } = await requests.query(filter, { limit, after }, holder.account.id);
      const data = records.map(show);
      return { object: 'list' as const, data, has_more: next !== null, next };
    },
  });
  addEndpoint(server, {
    path: `GET ${path}/events`,
    tag,
    summary: `${whose}, live, as server-sent events`,
    description:
      'Each event `request` has a request that has just ended, as the list has it. Ends when the server drains.',
    query: v.strictObject(live),
    answer: { description: 'The events', content: EVENT_STREAM },
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      const filter = await filterFor(store, request.query as Query, request.holder);
      await streamEvents(context, request, reply, {
        begin: async (send) => send('event: open\ndata: {"type":"open"}\n\n'),
        subscribe: (send) =>
          requests.follow((record) => {
            if (!meets(record, filter)) return;
            send(`event: request\ndata: ${JSON.stringify(show(record))}\n\n`);
          }),
      });
      return reply;
    },
  });
  addEndpoint<`${Scope['path']}/:id`, never, v.GenericSchema>(server, {
    path: `GET ${path}/:id`,
    tag,
    summary: `${whose}: one with its attempts, and its bodies if they were kept`,
    answer: detailShape,
    handler: async ({ holder, params: { id } }) => {
      const { accountId } = await filterFor(store, {}, holder);
      const found = await requests.find(id, accountId);
      if (found === undefined) throw noRequest(id);
      return detail(found, await requests.bodiesOf(found));
    },
  });
}

export function requestRoutes(server: FastifyInstance, context: AppContext): void {
  const { requests } = context.store;
  scopeRoutes(server, context, OWN);
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
  const { after: _, ...conditions } = ALL.conditions;
  scopeRoutes(server, context, ALL);
  addEndpoint(server, {
    path: 'GET /v1/admin/requests/export',
    tag: 'Administration',
    summary: 'All requests that match as lines of JSON; for keys of the account owner',
    query: v.strictObject(conditions),
    answer: {
      description: 'A line for each request, newest first',
      content: { 'application/jsonl': { schema: { type: 'string' } } },
    },
    exposeHeadRoute: false,
    handler: async ({ holder, query }, reply) => {
      const filter = await ALL.filterFor(store, query as Query, holder);
      reply.type('application/jsonl; charset=utf-8');
      return reply.send(Readable.from(exported(store, filter)));
    },
  });
}

async function* exported({ requests }: Store, filter: RequestFilter): AsyncGenerator<string, void> {
  for (let after: number | null = Infinity; after !== null; ) {
    const page: RequestPage = await requests.query(filter, { limit: EXPORT_PART, after });
    const lines = page.records.map((record) => `${JSON.stringify(record)}\n`);
    if (lines.length > 0) yield lines.join('');
    after = page.next;
  }
}
