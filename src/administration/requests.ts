import * as v from 'valibot';
import { codedFailure, Failure } from '../failure.ts';
import { boundedText, field, integer, withDefault } from '../schema/fields.ts';
import { decimal } from '../store/credits.ts';
import type { RequestAttempt, RequestRecord } from '../store/requests/record.ts';
import type { Store } from '../store/store.ts';
import { counted } from '../words.ts';
import { defineAdminCommand } from './admin-command.ts';
import { accountReference, keyReference, pastTime } from './fields.ts';
import { accountIdOf, requireKey } from './find.ts';
import { ownerConditions, ownerFilter } from './request-records.ts';
import { ID_COLUMN, tableOf, timeOf } from './tables.ts';

/** Requests of one page of the command line. */
const MAX_PAGE = 10_000;

const requestId = (description: string) =>
  field(boundedText(128), description, {
    expects: 'the id of a request',
  });

/** Requests as rows of a terminal. */
export const requestTable = tableOf<RequestRecord>({
  'ENDED (UTC)': [({ ended }) => timeOf(ended), { minWidth: 14, cut: (time) => time.slice(5) }],
  STATUS: [
    ({ status, error }) => `${status} ${error?.code ?? error?.type ?? ''}`.trim(),
    { minWidth: 7, cut: 'end' },
  ],
  ACCOUNT: [({ account }) => account?.name ?? '-', { minWidth: 6 }],
  MODEL: [({ model, route }) => model ?? route, { minWidth: 12 }],
  PROVIDER: [({ provider }) => provider ?? '-', { minWidth: 6, dropOrder: 2 }],
  TOOK: [({ latency_ms: latency }) => `${latency} ms`, { dropOrder: 3 }],
  IN: [({ input_tokens: input }) => String(input ?? '-'), { dropOrder: 0 }],
  OUT: [({ output_tokens: output }) => String(output ?? '-'), { dropOrder: 1 }],
  CREDITS: [({ credits }) => (credits === null ? '-' : decimal(credits)), { dropOrder: 4 }],
  ID: [({ id }) => id, ID_COLUMN],
});

export const listRequests = defineAdminCommand({
  group: 'requests',
  name: 'list',
  summary: 'List requests that have ended, newest first',
  options: v.strictObject({
    ...ownerConditions,
    limit: withDefault(integer(1, MAX_PAGE), 20, 'most requests to show'),
  }),
  examples: ['requests list --status 5xx --since 1d'],
  run: async (store, { limit, after, ...conditions }) => {
    const filter = await ownerFilter(store, conditions);
    const { records, next } = await store.requests.query(filter, { limit, after });
    return { requests: records, next };
  },
  show: ({ requests, next }) => ({
    tables: [requestTable(requests)],
    messages: next === null ? [] : [`more follow: --after ${next}`],
  }),
});

async function requireRequest(store: Store, id: string) {
  const found = await store.requests.find(id);
  if (found !== undefined) return found;
  if (id.length < ID_COLUMN.minWidth!) throw noRequest(id);
  const { records } = await store.requests.query({ text: id }, { limit: MAX_PAGE });
  const [one, other] = records.filter((record) => record.id.startsWith(id));
  if (one && !other) return one;
  throw noRequest(id);
}

/** The failure for an identifier that the log does not have. */
export function noRequest(id: string): Failure {
  return codedFailure('request_not_found', `the log has no request ${JSON.stringify(id)}`);
}

const showRequest = defineAdminCommand({
  group: 'requests',
  name: 'show',
  summary: 'Show a request: its attempts at providers, tokens, cost, and bodies if they were kept',
  positionals: ['id'],
  options: v.strictObject({
    id: requestId('id of the request, as in x-request-id, or the beginning of it'),
  }),
  examples: [],
  run: async (store, { id }) => {
    const found = await requireRequest(store, id);
    return { ...found, bodies: (await store.requests.bodiesOf(found)) ?? null };
  },
  show: ({ timeline, bodies, ...request }) => ({
    tables: [
      { rows: Object.entries(request).flatMap(([name, value]) => rowsOf(name, value)) },
      // Without columns a provider's message is not cut.
      ...(timeline.length === 0 ? [] : [{ rows: attemptTable(timeline).rows }]),
    ],
    ...(bodies && { value: `${bodies.request}\n${bodies.answer ?? ''}` }),
  }),
});

/** Fields for programs, which say what others say too. */
const HIDDEN = ['object', 'number', 'ended_ms', 'has_bodies'];

const nameAndId = ({ name, id }: NonNullable<RequestRecord['key']>) => `${name} (${id})`;

/** Fields that are shown otherwise than as they are kept; none is null here. */
const SHOWN: Readonly<Record<string, (value: never) => string>> = {
  ended: (seconds: number) => `${timeOf(seconds)} UTC`,
  error: ({ type, code, message }: NonNullable<RequestRecord['error']>) =>
    `${code ?? type}: ${message}`,
  key: nameAndId,
  account: nameAndId,
  credits: decimal,
  tags: (tags: RequestRecord['tags']) =>
    Object.entries(tags)
      .map((tag) => tag.join('='))
      .join(', '),
};

function rowsOf(name: string, value: unknown): string[][] {
  if (value === null || HIDDEN.includes(name)) return [];
  const text = (SHOWN[name] ?? String)(value as never);
  return text === '' ? [] : [[name.replaceAll('_', ' '), text]];
}

const attemptTable = tableOf<RequestAttempt>({
  AFTER: [({ start_ms: start }) => `${start} ms`, {}],
  TOOK: [({ latency_ms: latency }) => `${latency} ms`, {}],
  PROVIDER: [
    ({ provider, model, key }) => [provider, model, key ?? ''].join(' ').trim(),
    { minWidth: 8 },
  ],
  RESULT: [({ error }) => error ?? 'ok', {}],
  MESSAGE: [({ message }) => message ?? '', {}],
});

const removeRequests = defineAdminCommand({
  group: 'requests',
  name: 'remove',
  summary: 'Delete requests from the log for good, or their bodies alone',
  options: v.strictObject({
    account: v.optional(accountReference('requests of this account')),
    key: v.optional(keyReference('requests of this key')),
    id: v.optional(requestId('the request with this id')),
    before: v.optional(pastTime('requests that ended before')),
    bodies: withDefault(v.boolean(), false, 'delete bodies, and keep the rest'),
  }),
  result: v.object({ removed: v.number() }),
  examples: ['requests remove --account ci --bodies', 'requests remove --before 7d'],
  sample: { account: 'ci', bodies: true },
  run: async (store, { account, key, id, before, bodies }) => {
    if ([account, key, id, before].every((one) => one === undefined)) {
      throw new Failure('invalid_request', 'expected account, key, id or before, received none', {
        param: 'account',
      });
    }
    const accountId = await accountIdOf(store, account);
    const keyId = key === undefined ? undefined : (await requireKey(store, key)).id;
    return { removed: await store.requests.remove({ accountId, keyId, id, before }, bodies) };
  },
  audit: ({ account, key, id, before, bodies }, result) => ({
    object: account ?? key ?? id ?? 'requests',
    details: {
      ...{ account, key, id, bodies, removed: result?.removed },
      before: before === undefined ? undefined : new Date(before).toISOString(),
    },
  }),
  show: ({ removed }, { bodies }) => ({
    messages: [`deleted ${bodies ? 'the bodies of ' : ''}${counted(removed, 'request')}`],
  }),
});

export const REQUEST_COMMANDS = [listRequests, showRequest, removeRequests];
