import * as v from 'valibot';
import { integer, optional } from '../schema/fields.ts';
import { toCredits } from '../store/credits.ts';
import type {
  RequestAttempt,
  RequestBodies,
  RequestFilter,
  RequestRecord,
} from '../store/requests/record.ts';
import type { Store } from '../store/store.ts';
import { accountReference, keyReference, modelName, pastTime } from './fields.ts';

const text = (description: string) => v.pipe(v.string(), v.description(description));
const textOrNull = (description: string) =>
  v.pipe(v.nullable(v.string()), v.description(description));
const named = v.nullable(v.object({ id: v.string(), name: v.string() }));

/** A request of the log, for its account. */
export const requestShape = v.object({
  object: v.literal('request'),
  number: v.pipe(v.number(), v.description('ascending; the cursor of the list')),
  id: text('as in x-request-id'),
  ended: v.number(),
  method: v.string(),
  route: text('the pattern of the path'),
  status: v.pipe(v.number(), v.description('499 where the client disconnected')),
  error: v.nullable(
    v.object({ type: v.string(), code: v.nullable(v.string()), message: v.nullable(v.string()) }),
  ),
  key: named,
  model: v.nullable(v.string()),
  named_model: textOrNull('the name in the request, where no model has it'),
  task_id: v.nullable(v.string()),
  trace_id: textOrNull('as sent to the collector of traces'),
  attempts: v.pipe(v.number(), v.description('requests to providers')),
  latency_ms: v.number(),
  first_token_ms: v.nullable(v.number()),
  input_tokens: v.nullable(v.number()),
  cached_input_tokens: v.nullable(v.number()),
  output_tokens: v.nullable(v.number()),
  credits: v.pipe(v.nullable(v.number()), v.description('null where a task has the charge')),
  cache: textOrNull('hit, miss or bypass'),
  tags: v.record(v.string(), v.string()),
  has_bodies: v.pipe(v.boolean(), v.description('whether the bodies were kept')),
});

const attempt = {
  start_ms: v.pipe(v.number(), v.description('since the arrival of the request')),
  latency_ms: v.number(),
  status: v.nullable(v.number()),
  error: v.nullable(v.string()),
};

const ownerAttempt = {
  ...attempt,
  provider: v.string(),
  model: v.string(),
  key: textOrNull('which of several keys of the provider'),
  message: textOrNull("the provider's words"),
};

/** A request of the log, for the owner. */
export const ownerRequestShape = v.object({
  ...requestShape.entries,
  account: named,
  provider: v.nullable(v.string()),
  upstream_model: v.nullable(v.string()),
  timeline: v.array(v.object(ownerAttempt)),
});

const bodies = v.nullable(
  v.object({ request: v.string(), answer: textOrNull('of a stream, as the whole answer') }),
);

export const requestDetail = v.object({
  ...requestShape.entries,
  timeline: v.array(v.object(attempt)),
  bodies,
});
export const ownerRequestDetail = v.object({ ...ownerRequestShape.entries, bodies });

export type OwnerRequestRecord = v.InferOutput<typeof ownerRequestShape>;

/** A request as its account sees it: without the names of providers. */
export function requestRecord(request: RequestRecord): v.InferOutput<typeof requestShape> {
  const { errorType, errorCode, errorMessage, charge } = request;
  return {
    object: 'request',
    number: request.number,
    id: request.id,
    ended: Math.floor(request.at / 1000),
    method: request.method,
    route: request.route,
    status: request.status,
    error: errorType === null ? null : { type: errorType, code: errorCode, message: errorMessage },
    key: request.key,
    model: request.model,
    named_model: request.namedModel,
    task_id: request.taskId,
    trace_id: request.traceId,
    attempts: request.attempts.length,
    latency_ms: request.milliseconds,
    first_token_ms: request.firstFrameMs,
    input_tokens: request.inputTokens,
    cached_input_tokens: request.cachedInputTokens,
    output_tokens: request.outputTokens,
    credits: charge === null ? null : toCredits(charge),
    cache: request.cache,
    tags: request.tags,
    has_bodies: request.hasBodies,
  };
}

const attemptRecord = ({ startMs, milliseconds, status, error }: RequestAttempt) => ({
  start_ms: startMs,
  latency_ms: milliseconds,
  status,
  error,
});

export function ownerRecord(request: RequestRecord): OwnerRequestRecord {
  return {
    ...requestRecord(request),
    account: request.account,
    provider: request.provider,
    upstream_model: request.upstreamModel,
    timeline: request.attempts.map((one) => {
      const { provider, model, key, message } = one;
      return { ...attemptRecord(one), provider, model, key, message };
    }),
  };
}

export function requestDetailOf(
  request: RequestRecord,
  kept: RequestBodies | undefined,
): v.InferOutput<typeof requestDetail> {
  const timeline = request.attempts.map(attemptRecord);
  return { ...requestRecord(request), timeline, bodies: kept ?? null };
}

export function ownerDetailOf(
  request: RequestRecord,
  kept: RequestBodies | undefined,
): v.InferOutput<typeof ownerRequestDetail> {
  return { ...ownerRecord(request), bodies: kept ?? null };
}

/** Classes of statuses, as in OpenAPI. */
const CLASSES = ['2xx', '4xx', '5xx'] as const;

const short = v.pipe(v.string(), v.nonEmpty(), v.maxLength(256));

/** Conditions of a search for requests of an account. */
export const requestConditions = {
  key: v.optional(keyReference('only requests of the key with this id')),
  model: v.optional(modelName('only requests for this model')),
  status: optional(v.picklist(CLASSES), 'only answers with a status of this class'),
  tag: optional(short, 'only requests with this tag: run=42, or run for any value', {
    expects: 'a tag as run=42 or run',
  }),
  text: optional(short, 'only requests with this text in an id, a name or a message', {
    expects: '1 to 256 characters',
  }),
  since: v.optional(pastTime('only requests that ended since then')),
  until: v.optional(pastTime('only requests that ended before')),
  after: optional(integer(1), 'the number before which the page begins: `next` of the page before'),
};

/** Conditions of the owner. */
export const ownerConditions = {
  account: v.optional(accountReference('only requests of the account with this id or name')),
  provider: optional(short, 'only requests that this provider answered last', {
    expects: 'the name of a provider',
  }),
  ...requestConditions,
};

type Conditions = Omit<v.InferOutput<ReturnType<typeof conditionsSchema>>, 'after'>;
const conditionsSchema = () => v.strictObject(ownerConditions);

/** The filter of a search by conditions of the owner. */
export async function ownerFilter(store: Store, given: Conditions): Promise<RequestFilter> {
  const { account } = given;
  const found = account === undefined ? undefined : await store.findAccount(account);
  return { ...filterOf(given), accountId: found?.id ?? account, isOwner: true };
}

/** The filter of a search by conditions of an account. */
export function filterOf(conditions: Omit<Conditions, 'account'>): RequestFilter {
  const { key, model, provider, status, tag, text: part, since, until } = conditions;
  const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(tag ?? '')!;
  return {
    ...{ keyId: key, model, provider, statusClass: status?.[0], text: part },
    ...{ from: since, to: until },
    ...(tag !== undefined && { tag: { name, value: value ?? null } }),
  };
}
