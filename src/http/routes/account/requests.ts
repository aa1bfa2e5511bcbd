import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { integer, optional, withDefault } from '../../../schema/fields.ts';
import { toCredits } from '../../../store/credits.ts';
import type { RecentRequest } from '../../observability/recent-requests.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { filter, pageLimit, pageOf, pageShape, seconds } from '../../request/query.ts';

const requestShape = v.object({
  object: v.literal('request'),
  number: v.pipe(v.number(), v.description('ascending; the cursor of the list')),
  id: v.pipe(v.string(), v.description('as in x-request-id')),
  ended: v.number(),
  method: v.string(),
  route: v.pipe(v.string(), v.description('the pattern of the path')),
  status: v.pipe(v.number(), v.description('499 where the client disconnected')),
  error: v.nullable(v.object({ type: v.string(), code: v.nullable(v.string()) })),
  key: v.nullable(v.object({ id: v.string(), name: v.string() })),
  model: v.nullable(v.string()),
  task_id: v.nullable(v.string()),
  attempts: v.pipe(v.number(), v.description('requests to providers')),
  latency_ms: v.number(),
  first_token_ms: v.nullable(v.number()),
  input_tokens: v.nullable(v.number()),
  cached_input_tokens: v.nullable(v.number()),
  output_tokens: v.nullable(v.number()),
  credits: v.pipe(v.nullable(v.number()), v.description('null where a task has the charge')),
});

const ownerRequestShape = v.object({
  ...requestShape.entries,
  account: v.nullable(v.object({ id: v.string(), name: v.string() })),
  provider: v.nullable(v.string()),
  upstream_model: v.nullable(v.string()),
});

export type OwnerRequestRecord = v.InferOutput<typeof ownerRequestShape>;

function requestRecord(request: RecentRequest): v.InferOutput<typeof requestShape> {
  const { holder, usage, errorType } = request;
  return {
    object: 'request',
    number: request.number,
    id: request.id,
    ended: seconds(request.at),
    method: request.method,
    route: request.route,
    status: request.status,
    error: errorType === null ? null : { type: errorType, code: request.errorCode },
    key: holder ? { id: holder.key.id, name: holder.key.name } : null,
    model: request.model,
    task_id: request.taskId,
    attempts: request.attempts,
    latency_ms: request.milliseconds,
    first_token_ms: request.firstFrameMs === null ? null : Math.round(request.firstFrameMs),
    input_tokens: usage?.input ?? null,
    cached_input_tokens: usage?.cachedInput ?? null,
    output_tokens: usage?.output ?? null,
    credits: request.charge === null ? null : toCredits(request.charge),
  };
}

function ownerRecord(request: RecentRequest): OwnerRequestRecord {
  const { holder, provider, upstreamModel } = request;
  return {
    ...requestRecord(request),
    account: holder ? { id: holder.account.id, name: holder.account.name } : null,
    provider,
    upstream_model: upstreamModel,
  };
}

/** Route of sign-ins. */
const SIGN_IN = '/v1/session';

/** Classes of statuses, as in OpenAPI. */
const CLASSES = ['2xx', '4xx', '5xx'] as const;

const conditions = {
  key: filter('only requests of the key with this id'),
  model: filter('only requests for this model'),
  status: optional(v.picklist(CLASSES), 'only answers with a status of this class'),
  limit: pageLimit,
  after: optional(integer(1), 'the number of the last element of the page before'),
};

const accountQuery = v.strictObject(conditions);
const ownerQuery = v.strictObject({
  account: filter('only requests of the account with this id or name'),
  sign_ins: withDefault(v.boolean(), true, 'false leaves out the sign-ins of browsers'),
  ...conditions,
});

type OwnerQuery = v.InferOutput<typeof ownerQuery>;
type Conditions = Omit<OwnerQuery, 'sign_ins'>;

function meets(
  { holder, model, status, number }: RecentRequest,
  query: Omit<Conditions, 'limit'>,
): boolean {
  const { account, key, after } = query;
  if (after !== undefined && number >= after) return false;
  if (account !== undefined && holder?.account.id !== account && holder?.account.name !== account) {
    return false;
  }
  if (key !== undefined && holder?.key.id !== key) return false;
  if (query.model !== undefined && model !== query.model) return false;
  return query.status === undefined || String(status)[0] === query.status[0];
}

const DESCRIPTION =
  'POST requests that have ended since the daemon started, 1,000 of all accounts at most, without bodies. Each account ' +
  'has its share of them.';

/** The recent requests of the key's account, without the names of providers. */
export function requestRoutes(server: FastifyInstance, { recent }: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/requests',
    tag: 'Account',
    summary: "The account's recent requests with status, latency, tokens and credits, newest first",
    description: DESCRIPTION,
    query: accountQuery,
    answer: pageShape(requestShape),
    handler: async ({ holder, query }) => {
      const requests = recent.list(holder.account.id).filter((one) => meets(one, query));
      return pageOf(requests, query.limit, requestRecord);
    },
  });
}

/** The recent requests of all accounts. */
export function ownerRequestRoute(server: FastifyInstance, { recent }: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/admin/requests',
    tag: 'Administration',
    summary: 'Recent requests of all accounts, newest first; for keys of the account owner',
    description: DESCRIPTION,
    query: ownerQuery,
    answer: pageShape(ownerRequestShape),
    handler: async ({ query }) => {
      const requests = recent
        .list()
        .filter((one) => (query.sign_ins || one.route !== SIGN_IN) && meets(one, query));
      return pageOf(requests, query.limit, ownerRecord);
    },
  });
}
