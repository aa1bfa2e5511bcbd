import * as v from 'valibot';
import { boundedText, field, integer, optional } from '../schema/fields.ts';
import {
  attemptShape,
  ownerRequestShape,
  type RequestBodies,
  type RequestFilter,
  type RequestRecord,
  requestShape,
} from '../store/requests/record.ts';
import type { Store } from '../store/store.ts';
import { accountReference, keyReference, modelName, pastTime } from './fields.ts';

const bodies = v.nullable(
  v.object({
    request: v.string(),
    answer: field(v.nullable(v.string()), 'of a stream, as the whole answer'),
  }),
);

export const requestDetail = v.object({
  ...requestShape.entries,
  timeline: v.array(attemptShape),
  bodies,
});
export const ownerRequestDetail = v.object({ ...ownerRequestShape.entries, bodies });

/** A request as its account sees it: without the names of providers. */
export function requestRecord(request: RequestRecord) {
  const { account: _, provider: __, upstream_model: ___, timeline: ____, ...rest } = request;
  return rest;
}

export function requestDetailOf(request: RequestRecord, kept: RequestBodies | undefined) {
  const timeline = request.timeline.map(
    ({ provider: _, model: __, key: ___, message: ____, ...rest }) => rest,
  );
  return { ...requestRecord(request), timeline, bodies: kept ?? null };
}

/** Classes of statuses, as in OpenAPI. */
const CLASSES = ['2xx', '4xx', '5xx'] as const;

const short = boundedText(256);

/** Conditions of a search for requests of an account. */
export const requestConditions = {
  key: v.optional(keyReference('only requests of this key')),
  model: v.optional(modelName('only requests for this model')),
  status: optional(v.picklist(CLASSES), 'only answers with a status of this class'),
  tag: optional(short, 'only requests with this tag: run=42, or run for any value', {
    expects: 'a tag such as run=42 or run',
  }),
  text: optional(short, 'only requests with this text in an id, a name or a message', {
    expects: '1 to 256 characters',
  }),
  since: v.optional(pastTime('only requests that ended since then')),
  until: v.optional(pastTime('only requests that ended before')),
  after: optional(integer(1), 'where the page begins: `next` of the previous page'),
};

/** Conditions of the owner. */
export const ownerConditions = {
  account: v.optional(accountReference('only requests of this account')),
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
