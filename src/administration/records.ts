import {
  type Account,
  type ApiKey,
  type ImageAnswer,
  type KeyStatus,
  statusOf,
  type Team,
} from '../store/account.ts';
import { type BudgetWindow, windowBalances } from '../store/budgets.ts';
import type { Period } from '../store/calendar.ts';
import { type Balance, type CreditsRecord, creditsOf, toCredits } from '../store/credits.ts';
import type { Store } from '../store/store.ts';

/** An account without the secret that signs its callbacks. */
export interface AccountRecord {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  readonly createdAt: string;
  readonly credits: CreditsRecord;
}

/** A budget by day, week or month. `granted` is its limit. */
export interface WindowRecord extends CreditsRecord {
  readonly period: Period;
  readonly timeZone: string;
  readonly resetsAt: string;
}

/** A key without the key itself and its hash. */
export interface KeyRecord {
  readonly id: string;
  /** The name of the account. */
  readonly account: string;
  readonly name: string;
  /** The name of the team; null without one. */
  readonly team: string | null;
  readonly hint: string;
  readonly status: KeyStatus;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
  readonly models: readonly string[] | null;
  /** Features that its requests may use; absent where only its models allow some. */
  readonly allow?: readonly string[];
  /** Answer to image requests that choose none; absent where the configuration has it. */
  readonly images?: ImageAnswer;
  readonly rpm: number | null;
  /** Null where it may spend all credits of its account. */
  readonly budget: CreditsRecord | null;
  readonly windows: readonly WindowRecord[];
}

export interface TeamRecord {
  readonly id: string;
  /** The name of the account. */
  readonly account: string;
  readonly name: string;
  readonly createdAt: string;
  /** Number of its keys that are not revoked. */
  readonly keys: number;
  /** Credits of all its keys. */
  readonly reserved: number;
  readonly spent: number;
  /** Null where its keys may spend all credits of their account. */
  readonly budget: CreditsRecord | null;
  readonly windows: readonly WindowRecord[];
}

const timeOf = (milliseconds: number) => new Date(milliseconds).toISOString();
const timeOrNull = (milliseconds: number | null) =>
  milliseconds === null ? null : timeOf(milliseconds);

export function accountRecord(account: Account): AccountRecord {
  const { id, name, plan, createdAt } = account;
  return { id, name, plan, createdAt: timeOf(createdAt), credits: creditsOf(account) };
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

/** Records of keys with the names of their accounts and teams, and with their budgets. */
export async function keyRecords(store: Store, keys: readonly ApiKey[]): Promise<KeyRecord[]> {
  const accounts = new Map((await store.listAccounts()).map(({ id, name }) => [id, name]));
  const teams = new Map((await store.listTeams()).map(({ id, name }) => [id, name]));
  const windows = await windowsByHolder(store, keys);
  return keys.map((key) => ({
    id: key.id,
    account: accounts.get(key.accountId) ?? key.accountId,
    name: key.name,
    team: key.teamId === undefined ? null : (teams.get(key.teamId) ?? key.teamId),
    hint: key.hint,
    status: statusOf(key, Date.now()),
    createdAt: timeOf(key.createdAt),
    expiresAt: timeOrNull(key.expiresAt),
    revokedAt: timeOrNull(key.revokedAt),
    models: key.models,
    ...(key.allow && { allow: key.allow }),
    ...(key.images && { images: key.images }),
    rpm: key.rpm,
    budget: totalBudget(key),
    windows: windowRecords(key, windows.get(key.id) ?? []),
  }));
}

export async function teamRecords(store: Store, teams: readonly Team[]): Promise<TeamRecord[]> {
  const accounts = new Map((await store.listAccounts()).map(({ id, name }) => [id, name]));
  const keys = (await store.listKeys()).filter(({ revokedAt }) => revokedAt === null);
  const windows = await windowsByHolder(store, teams);
  return teams.map((team) => ({
    id: team.id,
    account: accounts.get(team.accountId) ?? team.accountId,
    name: team.name,
    createdAt: timeOf(team.createdAt),
    keys: keys.filter(({ teamId }) => teamId === team.id).length,
    reserved: toCredits(team.reserved),
    spent: toCredits(team.spent),
    budget: totalBudget(team),
    windows: windowRecords(team, windows.get(team.id) ?? []),
  }));
}

async function windowsByHolder(
  store: Store,
  holders: readonly (ApiKey | Team)[],
): Promise<Map<string, BudgetWindow[]>> {
  const found = new Map<string, BudgetWindow[]>();
  if (!holders.some(({ windows }) => windows)) return found;
  for (const row of await store.listBudgetWindows()) {
    const rows = found.get(row.holderId);
    if (rows) rows.push(row);
    else found.set(row.holderId, [row]);
  }
  return found;
}

/** A decimal without an exponent, which `String` gives to `1e-6`. */
export function decimal(credits: number): string {
  return credits.toFixed(6).replace(/\.?0+$/, '');
}
