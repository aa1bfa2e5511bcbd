import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { day, field, integer } from '../../schema/fields.ts';
import { type Account, PLANS, previousSecretEnd } from '../../store/account.ts';
import { creditsOf, toCredits } from '../../store/credits.ts';
import { dayOf, ENTRY_TYPES, type LedgerEntry, type UsageRow } from '../../store/ledger.ts';
import type { AppContext } from '../app-context.ts';
import { pageLimit, pageOf, seconds } from './query.ts';
import { SecretRotationLimit } from './secret-rotation-limit.ts';

const creditsShape = v.object({
  granted: v.number(),
  reserved: v.number(),
  spent: v.number(),
  available: v.number(),
});

const accountShape = v.object({
  object: v.literal('account'),
  id: v.string(),
  name: v.string(),
  plan: v.picklist(PLANS),
  created: v.number(),
  credits: creditsShape,
  limits: v.object({ requests_per_minute: v.number() }),
  key: v.object({
    id: v.string(),
    name: v.string(),
    expires: v.nullable(v.number()),
    models: v.nullable(v.array(v.string())),
    budget: v.nullable(v.object({ granted: v.number(), reserved: v.number(), spent: v.number() })),
  }),
});

const entryShape = v.object({
  id: v.number(),
  type: v.picklist(ENTRY_TYPES),
  amount: v.number(),
  available: v.number(),
  created: v.number(),
  key_id: v.nullable(v.string()),
  task_id: v.nullable(v.string()),
  model: v.nullable(v.string()),
  requests: v.nullable(v.number()),
  note: v.nullable(v.string()),
});

function entryOf(entry: LedgerEntry): v.InferOutput<typeof entryShape> {
  return {
    id: entry.id,
    type: entry.type,
    amount: toCredits(entry.amount),
    available: toCredits(entry.available),
    created: seconds(entry.at),
    key_id: entry.keyId,
    task_id: entry.taskId,
    model: entry.model,
    requests: entry.requests,
    note: entry.note,
  };
}

const counts = {
  requests: v.number(),
  input_tokens: v.number(),
  cached_input_tokens: v.number(),
  output_tokens: v.number(),
  outputs: v.number(),
  credits: v.number(),
};
const usageShape = v.object({
  object: v.literal('list'),
  data: v.array(
    v.object({ day: v.optional(v.string()), model: v.optional(v.string()), ...counts }),
  ),
});
const usageQuery = v.strictObject({
  from: v.optional(field(day(), 'the first day, UTC; 29 days before the last')),
  to: v.optional(field(day(), 'the last day, UTC; today')),
  by: v.optional(field(v.picklist(['day', 'model']), 'what a row stands for'), 'day'),
});

const ledgerQuery = v.strictObject({
  limit: pageLimit,
  after: v.optional(field(integer(0), 'the id of the last element of the page before')),
});

const secretShape = v.object({
  object: v.literal('callback_secret'),
  secret: v.string(),
  previous_expires: v.optional(v.number()),
});

const rotationQuery = v.strictObject({
  drop_previous: v.optional(
    field(v.boolean(), 'whether the old secret signs no more from now on'),
    false,
  ),
});

/** The fields of an actor that a client of the API does not have. */
const NO_LOCAL_USER = { user: null, uid: null, sudoUser: null };

/** Days of usage where the query has no `from`. */
const DEFAULT_USAGE_DAYS = 30;

const COUNTERS = [
  'requests',
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'outputs',
  'spent',
] as const;

/** Sums the rows of the same day or model, in the order of the rows. */
function sumUsage(rows: readonly UsageRow[], by: 'day' | 'model') {
  const sums = new Map<string, Record<(typeof COUNTERS)[number], number>>();
  for (const row of rows) {
    const sum = sums.get(row[by]);
    if (sum === undefined) sums.set(row[by], { ...row });
    else for (const counter of COUNTERS) sum[counter] += row[counter];
  }
  return [...sums].map(([name, sum]) => ({
    [by]: name,
    requests: sum.requests,
    input_tokens: sum.inputTokens,
    cached_input_tokens: sum.cachedInputTokens,
    output_tokens: sum.outputTokens,
    outputs: sum.outputs,
    credits: toCredits(sum.spent),
  }));
}

/** Reading the account does not count against the rate limit: clients read it to see the limit. */
const config = { uncounted: true };

/** The account of the API key: plan, credits, ledger, usage and callback secret. */
export function accountRoutes(context: AppContext): FastifyPluginAsync {
  const rotations = new SecretRotationLimit();
  const secretOf = (account: Account): v.InferOutput<typeof secretShape> => {
    const { secretOverlap } = context.config.callbacks;
    const end = previousSecretEnd(account, secretOverlap, Date.now());
    const previous = end === null ? {} : { previous_expires: seconds(end) };
    return { object: 'callback_secret', secret: account.callbackSecret, ...previous };
  };
  return async (server) => {
    server.get('/v1/account', {
      config,
      schema: {
        summary: "The caller's account: plan, credits, limits, and the key in use",
        tags: ['Account'],
        response: { 200: accountShape },
      },
      handler: async ({ holder }): Promise<v.InferOutput<typeof accountShape>> => {
        const { account, key } = holder;
        return {
          object: 'account',
          id: account.id,
          name: account.name,
          plan: account.plan,
          created: seconds(account.createdAt),
          credits: creditsOf(account),
          limits: { requests_per_minute: key.rpm ?? context.config.limits[account.plan].rpm },
          key: {
            id: key.id,
            name: key.name,
            expires: key.expiresAt === null ? null : seconds(key.expiresAt),
            models: key.models === null ? null : [...key.models],
            budget:
              key.budget === null
                ? null
                : {
                    granted: toCredits(key.budget),
                    reserved: toCredits(key.reserved),
                    spent: toCredits(key.spent),
                  },
          },
        };
      },
    });

    server.get('/v1/account/callback-secret', {
      config,
      schema: {
        summary: "The secret that the account's callbacks are signed with (Standard Webhooks)",
        tags: ['Account'],
        response: { 200: secretShape },
      },
      handler: async ({ holder }, reply) => {
        reply.header('cache-control', 'no-store');
        return secretOf(holder.account);
      },
    });

    server.post<{ Querystring: v.InferOutput<typeof rotationQuery> }>(
      '/v1/account/callback-secret',
      {
        schema: {
          summary:
            'Replaces the secret of callbacks; for a while they are signed with the old one as well',
          tags: ['Account'],
          querystring: rotationQuery,
          response: { 200: secretShape },
        },
        handler: async ({ holder, query, ip }, reply) => {
          const { account, key } = holder;
          rotations.take(account.id);
          const dropPrevious = query.drop_previous;
          const who = { ...NO_LOCAL_USER, key: key.id, account: account.id, from: ip };
          const details = { id: account.id, dropPrevious };
          const subject = () => ({ object: account.name, details });
          const act = { act: 'accounts.rotate-callback-secret', who, subject };
          const rotated = await context.audit.record(act, () =>
            context.store.rotateCallbackSecret(account.id, dropPrevious),
          );
          reply.header('cache-control', 'no-store');
          return secretOf(rotated);
        },
      },
    );

    server.get<{ Querystring: v.InferOutput<typeof ledgerQuery> }>('/v1/account/credits', {
      config,
      schema: {
        summary: "The account's ledger, newest first",
        tags: ['Account'],
        querystring: ledgerQuery,
        response: {
          200: v.object({
            object: v.literal('list'),
            data: v.array(entryShape),
            has_more: v.boolean(),
          }),
        },
      },
      handler: async ({ holder, query }) => {
        const { limit, after } = query;
        const page = { limit: limit + 1, ...(after !== undefined && { after }) };
        return pageOf(await context.store.listLedger(holder.account.id, page), limit, entryOf);
      },
    });

    server.get<{ Querystring: v.InferOutput<typeof usageQuery> }>('/v1/account/usage', {
      config,
      schema: {
        summary:
          'Requests, tokens, outputs and credits, by day or by model; days are UTC, inclusive',
        tags: ['Account'],
        querystring: usageQuery,
        response: { 200: usageShape },
      },
      handler: async ({ holder, query }) => {
        const to = query.to ?? dayOf(Date.now());
        const from = query.from ?? dayOf(Date.parse(to) - (DEFAULT_USAGE_DAYS - 1) * 86_400_000);
        const rows = await context.store.listUsage(holder.account.id, { from, to });
        return { object: 'list', data: sumUsage(rows, query.by) };
      },
    });
  };
}
