import * as v from 'valibot';
import { groupBy } from '../maps.ts';
import { field, optional } from '../schema/fields.ts';
import {
  type Account,
  type ApiKey,
  IMAGE_ANSWERS,
  KEPT_BODIES,
  KEY_STATUSES,
  PLANS,
  statusOf,
  type Team,
} from '../store/account.ts';
import { type BudgetWindow, windowBalances } from '../store/budgets.ts';
import { PERIODS } from '../store/calendar.ts';
import { type Balance, type CreditsRecord, creditsOf, toCredits } from '../store/credits.ts';
import type { NodeRecord as StoredNode } from '../store/nodes.ts';
import type { Store } from '../store/store.ts';

const time = field(v.string(), 'ISO 8601');

const creditsShape = v.object({
  granted: v.number(),
  reserved: v.number(),
  spent: v.number(),
  available: v.number(),
} satisfies Record<keyof CreditsRecord, v.GenericSchema>);

/** An account without the secret that signs its callbacks. */
export const accountShape = v.object({
  id: v.string(),
  name: v.string(),
  plan: v.picklist(PLANS),
  bodies: optional(v.picklist(KEPT_BODIES), 'absent where the model has it'),
  createdAt: time,
  credits: creditsShape,
});

export type AccountRecord = v.InferOutput<typeof accountShape>;

const budgetShape = field(
  v.nullable(creditsShape),
  'null where only the credits of the account limit it',
);

const windowShape = v.object({
  period: v.picklist(PERIODS),
  timeZone: v.string(),
  resetsAt: time,
  ...creditsShape.entries,
});

const windowsShape = field(
  v.array(windowShape),
  'budgets by day, week and month; granted is the limit',
);

type WindowRecord = v.InferOutput<typeof windowShape>;

/** Loads of a key or a team. */
const loadsShape = {
  tpm: optional(v.number(), 'tokens per minute; absent for no limit'),
  parallel: optional(v.number(), 'requests at once; absent for no limit'),
};

/** A key without the key itself and its hash. */
export const keyShape = v.object({
  id: v.string(),
  account: field(v.string(), 'the name of the account'),
  name: v.string(),
  team: field(v.nullable(v.string()), 'the name of the team'),
  hint: field(v.string(), 'beginning and end of the key'),
  status: v.picklist(KEY_STATUSES),
  createdAt: time,
  expiresAt: v.nullable(time),
  revokedAt: v.nullable(time),
  models: field(v.nullable(v.array(v.string())), 'null for all'),
  allow: optional(v.array(v.string()), 'absent where only its models allow features'),
  images: optional(v.picklist(IMAGE_ANSWERS), 'absent where the configuration has it'),
  cache: optional(v.string(), 'absent where the model has it'),
  bodies: optional(v.picklist(KEPT_BODIES), 'absent where the account or the model has it'),
  rpm: field(v.nullable(v.number()), 'null for the limit of the plan'),
  ...loadsShape,
  budget: budgetShape,
  windows: windowsShape,
});

export type KeyRecord = v.InferOutput<typeof keyShape>;

export const teamShape = v.object({
  id: v.string(),
  account: field(v.string(), 'the name of the account'),
  name: v.string(),
  createdAt: time,
  keys: field(v.number(), 'its keys that are not revoked'),
  reserved: field(v.number(), 'credits of all its keys'),
  spent: v.number(),
  ...loadsShape,
  budget: budgetShape,
  windows: windowsShape,
});

export type TeamRecord = v.InferOutput<typeof teamShape>;

const timeOf = (milliseconds: number) => new Date(milliseconds).toISOString();
const timeOrNull = (milliseconds: number | null) =>
  milliseconds === null ? null : timeOf(milliseconds);

export function accountRecord(account: Account): AccountRecord {
  const { id, name, plan, bodies, createdAt } = account;
  return {
    ...{ id, name, plan, ...(bodies && { bodies }) },
    createdAt: timeOf(createdAt),
    credits: creditsOf(account),
  };
}

/** A budget may have been set below what is spent: nothing is available then. */
function budgetOf(balance: Balance): CreditsRecord {
  const { available, ...rest } = creditsOf(balance);
  return { ...rest, available: Math.max(0, available) };
}

function totalBudget({ budget, reserved, spent }: ApiKey | Team): CreditsRecord | null {
  return budget === null ? null : budgetOf({ granted: budget, reserved, spent });
}

function windowRecords(holder: ApiKey | Team, rows: readonly BudgetWindow[]): WindowRecord[] {
  return windowBalances(holder, rows, Date.now()).map(({ period, timeZone, end, ...balance }) => ({
    period,
    timeZone,
    resetsAt: timeOf(end),
    ...budgetOf(balance),
  }));
}

function loadsOf({ tpm, parallel }: ApiKey | Team) {
  return { ...(tpm && { tpm }), ...(parallel && { parallel }) };
}

/** Records of keys with the names of their accounts and teams, and with their budgets. */
export async function keyRecords(store: Store, keys: readonly ApiKey[]): Promise<KeyRecord[]> {
  const accounts = await accountNames(store, keys);
  const teamIds = distinct(keys.flatMap(({ teamId }) => teamId ?? []));
  const teams = namesById(
    teamIds.length > 0 ? await store.listTeams(undefined, { ids: teamIds }) : [],
  );
  const windows = await windowsByHolder(store, keys);
  return keys.map((key) => {
    const { id, accountId, name, teamId, hint, models, allow, images, cache, rpm } = key;
    const { bodies } = key;
    return {
      ...{ id, account: accounts.get(accountId) ?? accountId, name, hint, rpm },
      team: teamId === undefined ? null : (teams.get(teamId) ?? teamId),
      status: statusOf(key, Date.now()),
      createdAt: timeOf(key.createdAt),
      expiresAt: timeOrNull(key.expiresAt),
      revokedAt: timeOrNull(key.revokedAt),
      models: models && [...models],
      ...(allow && { allow: [...allow] }),
      ...(images && { images }),
      ...(cache && { cache }),
      ...(bodies && { bodies }),
      ...loadsOf(key),
      budget: totalBudget(key),
      windows: windowRecords(key, windows.get(id) ?? []),
    };
  });
}

export async function teamRecords(store: Store, teams: readonly Team[]): Promise<TeamRecord[]> {
  const accounts = await accountNames(store, teams);
  const keys = await store.countKeys(teams);
  const windows = await windowsByHolder(store, teams);
  return teams.map((team) => {
    const { id, accountId, name } = team;
    return {
      ...{ id, account: accounts.get(accountId) ?? accountId, name },
      createdAt: timeOf(team.createdAt),
      keys: keys.get(id) ?? 0,
      reserved: toCredits(team.reserved),
      spent: toCredits(team.spent),
      ...loadsOf(team),
      budget: totalBudget(team),
      windows: windowRecords(team, windows.get(id) ?? []),
    };
  });
}

/** A daemon on the store. */
export const nodeShape = v.object({
  id: v.string(),
  name: v.string(),
  version: v.string(),
  startedAt: time,
  aliveUntil: field(v.string(), 'end of its lease, which it extends while it runs'),
  isAlive: v.boolean(),
  claims: field(v.number(), 'tasks that it processes'),
});

export type NodeRecord = v.InferOutput<typeof nodeShape>;

export function nodeRecord(
  { startedAt, aliveUntil, ...node }: StoredNode,
  now: number,
): NodeRecord {
  return {
    ...node,
    startedAt: timeOf(startedAt),
    aliveUntil: timeOf(aliveUntil),
    isAlive: aliveUntil > now,
  };
}

const distinct = (ids: readonly string[]) => [...new Set(ids)];

const namesById = (records: readonly (Account | Team)[]) =>
  new Map(records.map(({ id, name }) => [id, name]));

/** Names of the accounts of keys or teams. */
async function accountNames(store: Store, holders: readonly (ApiKey | Team)[]) {
  const ids = distinct(holders.map(({ accountId }) => accountId));
  return namesById(ids.length > 0 ? await store.listAccounts({ ids }) : []);
}

async function windowsByHolder(store: Store, holders: readonly (ApiKey | Team)[]) {
  const ids = holders.flatMap(({ id, windows }) => (windows ? id : []));
  const rows = ids.length > 0 ? await store.listBudgetWindows(undefined, ids) : [];
  return groupBy(rows, ({ holderId }) => holderId);
}
