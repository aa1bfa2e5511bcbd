import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { codedFailure } from '../../../failure.ts';
import { integer, optional, withDefault } from '../../../schema/fields.ts';
import {
  type Account,
  type ApiKey,
  PLANS,
  previousSecretEnd,
  type Team,
} from '../../../store/account.ts';
import { type BudgetWindow, windowBalances } from '../../../store/budgets.ts';
import { PERIODS } from '../../../store/calendar.ts';
import { creditsOf, inCredits, toCredits } from '../../../store/credits.ts';
import { ENTRY_TYPES, type LedgerEntry } from '../../../store/ledger.ts';
import type { KeyHolder, Store } from '../../../store/store.ts';
import type { AppContext } from '../../request/app-context.ts';
import { keyActor } from '../../request/auth.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { pageLimit, pageOf, pageShape, seconds } from '../../request/query.ts';

const balance = { granted: v.number(), reserved: v.number(), spent: v.number() };

const spendingShape = {
  budget: v.nullable(v.object(balance)),
  windows: v.array(
    v.object({
      period: v.picklist(PERIODS),
      time_zone: v.string(),
      resets: v.number(),
      ...balance,
    }),
  ),
};

const accountShape = v.object({
  object: v.literal('account'),
  id: v.string(),
  name: v.string(),
  plan: v.picklist(PLANS),
  created: v.number(),
  credits: v.object({ ...balance, available: v.number() }),
  limits: v.object({
    requests_per_minute: v.number(),
    tokens_per_minute: v.optional(v.number()),
    parallel_requests: v.optional(v.number()),
  }),
  key: v.object({
    id: v.string(),
    name: v.string(),
    expires: v.nullable(v.number()),
    models: v.nullable(v.array(v.string())),
    ...spendingShape,
    team: v.nullable(v.object({ id: v.string(), name: v.string(), ...spendingShape })),
  }),
});

/** Answer of `GET /v1/account`. */
export type AccountAnswer = v.InferOutput<typeof accountShape>;

type Spending = AccountAnswer['key'];

/** Budgets of a key or a team. */
function spendingOf(
  holder: ApiKey | Team,
  rows: readonly BudgetWindow[],
  now: number,
): Pick<Spending, 'budget' | 'windows'> {
  const { budget, reserved, spent } = holder;
  return {
    budget: budget === null ? null : inCredits({ granted: budget, reserved, spent }),
    windows: windowBalances(holder, rows, now).map(({ period, timeZone, end, ...balance }) => ({
      period,
      time_zone: timeZone,
      resets: seconds(end),
      ...inCredits(balance),
    })),
  };
}

/** An account and a key as they are now: those of a request may be a second old, and their sums older. */
async function currentHolder(store: Store, { account, key }: KeyHolder): Promise<KeyHolder> {
  const [current, keys] = await Promise.all([
    store.findAccount(account.id),
    key.budget === null ? [] : store.listKeys(account.id, { ids: [key.id] }),
  ]);
  return { account: current ?? account, key: keys[0] ?? key };
}

/** The budgets of a key and its team. Most keys have neither windows nor a team, and need no lists. */
async function budgetsOf(store: Store, { key, account }: KeyHolder) {
  const { teamId } = key;
  const [team] = teamId === undefined ? [] : await store.listTeams(account.id, { ids: [teamId] });
  const holders = [key, ...(team ? [team] : [])].flatMap(({ id, windows }) => (windows ? id : []));
  const rows = holders.length > 0 ? await store.listBudgetWindows(account.id, holders) : [];
  return {
    ...spendingOf(key, rows, store.now),
    team: team ? { id: team.id, name: team.name, ...spendingOf(team, rows, store.now) } : null,
  };
}

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

export type LedgerRecord = v.InferOutput<typeof entryShape>;

function entryOf(entry: LedgerEntry): LedgerRecord {
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

const ledgerQuery = v.strictObject({
  limit: pageLimit,
  after: optional(integer(0), 'id of the last element of the previous page'),
});

const secretShape = v.object({
  object: v.literal('callback_secret'),
  secret: v.string(),
  previous_expires: v.optional(v.number()),
});

const rotationQuery = v.strictObject({
  drop_previous: withDefault(
    v.boolean(),
    false,
    'whether the old secret signs no more from now on',
  ),
});

/** Reading the account does not count against the rate limit: clients read it to see the limit. */
const config = { uncounted: true };

/** The account of the API key: plan, credits, ledger and callback secret. */
export function accountRoutes(server: FastifyInstance, context: AppContext): void {
  const countRotation = rotationLimit();
  const secretOf = (account: Account): v.InferOutput<typeof secretShape> => {
    const { secretOverlap } = context.config.callbacks;
    const end = previousSecretEnd(account, secretOverlap, context.store.now);
    const previous = end === null ? {} : { previous_expires: seconds(end) };
    return { object: 'callback_secret', secret: account.callbackSecret, ...previous };
  };
  addEndpoint(server, {
    path: 'GET /v1/account',
    tag: 'Account',
    summary: "The caller's account: plan, credits, limits, and the key in use",
    config,
    answer: accountShape,
    handler: async (request) => {
      const holder = await currentHolder(context.store, request.holder);
      const { account, key } = holder;
      return {
        object: 'account' as const,
        id: account.id,
        name: account.name,
        plan: account.plan,
        created: seconds(account.createdAt),
        credits: creditsOf(account),
        limits: {
          requests_per_minute: key.rpm ?? context.config.limits[account.plan].rpm,
          ...(key.tpm && { tokens_per_minute: key.tpm }),
          ...(key.parallel && { parallel_requests: key.parallel }),
        },
        key: {
          id: key.id,
          name: key.name,
          expires: key.expiresAt === null ? null : seconds(key.expiresAt),
          models: key.models === null ? null : [...key.models],
          ...(await budgetsOf(context.store, holder)),
        },
      };
    },
  });

  addEndpoint(server, {
    path: 'GET /v1/account/callback-secret',
    tag: 'Account',
    summary: "The secret that signs the account's callbacks (Standard Webhooks)",
    config,
    answer: secretShape,
    handler: async ({ holder }, reply) => {
      reply.header('cache-control', 'no-store');
      return secretOf(holder.account);
    },
  });

  addEndpoint(server, {
    path: 'POST /v1/account/callback-secret',
    tag: 'Account',
    summary: 'Replace the callback secret; for a while callbacks carry signatures of both secrets',
    query: rotationQuery,
    answer: secretShape,
    handler: async (request, reply) => {
      const { account } = request.holder;
      countRotation(account.id);
      const dropPrevious = request.query.drop_previous;
      const who = keyActor(request);
      const details = { id: account.id, dropPrevious };
      const subject = () => ({ object: account.name, details });
      const act = { act: 'accounts.rotate-callback-secret', who, subject };
      const rotated = await context.audit.record(act, () =>
        context.store.rotateCallbackSecret(account.id, dropPrevious),
      );
      reply.header('cache-control', 'no-store');
      return secretOf(rotated);
    },
  });

  addEndpoint(server, {
    path: 'GET /v1/account/credits',
    tag: 'Account',
    summary: "The account's ledger, newest first",
    config,
    query: ledgerQuery,
    answer: pageShape(entryShape),
    handler: async ({ holder, query }) => {
      const { limit, after } = query;
      const page = { limit: limit + 1, ...(after !== undefined && { after }) };
      return pageOf(await context.store.listLedger(holder.account.id, page), limit, entryOf);
    },
  });
}

/** Rotations of one account's secret in an hour: each is a line of the audit log for ever. */
const MAX_ROTATIONS = 10;

const HOUR_MS = 3_600_000;

/** Limits how often clients rotate their callback secrets. The function counts one rotation. */
function rotationLimit(): (account: string) => void {
  /** Times of the last hour by account, in milliseconds of `performance.now()`. */
  const rotations = new Map<string, readonly number[]>();
  return (account) => {
    const now = performance.now();
    for (const [other, times] of rotations) {
      const recent = times.filter((time) => now - time < HOUR_MS);
      if (recent.length > 0) rotations.set(other, recent);
      else rotations.delete(other);
    }
    const times = rotations.get(account) ?? [];
    if (times.length >= MAX_ROTATIONS) {
      throw codedFailure(
        'too_many_rotations',
        `a secret may be rotated ${MAX_ROTATIONS} times in an hour`,
        { retryAfter: Math.ceil((times[0]! + HOUR_MS - now) / 1000) },
      );
    }
    rotations.set(account, [...times, now]);
  };
}
