import type { AdminTable } from './admin-command.ts';
import { type AccountRecord, decimal, type KeyRecord, type TeamRecord } from './records.ts';

/** Tables show the day; `--json` prints the time as well. */
const day = (time: string | null) => time?.slice(0, 10) ?? '-';

/** Columns by title. Those with `dropOrder` are left out of a table that is wider than the terminal. */
type Columns = Readonly<Record<string, NonNullable<AdminTable['columns']>[number]>>;

function tableOf(columns: Columns, rows: AdminTable['rows']): AdminTable {
  return { columns: Object.values(columns), rows: [Object.keys(columns), ...rows] };
}

const ACCOUNT_COLUMNS: Columns = {
  NAME: { minWidth: 8 },
  PLAN: { dropOrder: 5 },
  AVAILABLE: {},
  RESERVED: { dropOrder: 2 },
  SPENT: { dropOrder: 4 },
  GRANTED: { dropOrder: 3 },
  CREATED: { dropOrder: 1 },
  ID: { dropOrder: 0 },
};

export function accountTable(accounts: readonly AccountRecord[]): AdminTable {
  return tableOf(
    ACCOUNT_COLUMNS,
    accounts.map(({ name, plan, credits, createdAt, id }) => [
      name,
      plan,
      decimal(credits.available),
      decimal(credits.reserved),
      decimal(credits.spent),
      decimal(credits.granted),
      day(createdAt),
      id,
    ]),
  );
}

/** All budgets of a key or a team: `49 of 50, 1.5 of 5 a day`. */
function budgetText({ budget, windows }: Pick<KeyRecord, 'budget' | 'windows'>): string {
  const parts = windows.map(
    ({ period, available, granted }) => `${decimal(available)} of ${decimal(granted)} a ${period}`,
  );
  if (budget) parts.unshift(`${decimal(budget.available)} of ${decimal(budget.granted)}`);
  return parts.join(', ') || '-';
}

const TEAM_COLUMNS: Columns = {
  NAME: { minWidth: 8 },
  ACCOUNT: { minWidth: 8, dropOrder: 6 },
  KEYS: { dropOrder: 3 },
  SPENT: { dropOrder: 5 },
  RESERVED: { dropOrder: 2 },
  BUDGET: { minWidth: 8, dropOrder: 4 },
  CREATED: { dropOrder: 1 },
  ID: { dropOrder: 0 },
};

export function teamTable(teams: readonly TeamRecord[]): AdminTable {
  return tableOf(
    TEAM_COLUMNS,
    teams.map((team) => [
      team.name,
      team.account,
      String(team.keys),
      decimal(team.spent),
      decimal(team.reserved),
      budgetText(team),
      day(team.createdAt),
      team.id,
    ]),
  );
}

const KEY_COLUMNS: Columns = {
  // Whole, since commands ask for it.
  ID: {},
  ACCOUNT: { minWidth: 8, dropOrder: 6 },
  NAME: { minWidth: 8 },
  TEAM: { minWidth: 8, dropOrder: 2 },
  KEY: { dropOrder: 3 },
  STATUS: { dropOrder: 7 },
  EXPIRES: { dropOrder: 4 },
  RPM: { dropOrder: 1 },
  BUDGET: { minWidth: 8, dropOrder: 5 },
  MODELS: { minWidth: 8, dropOrder: 0 },
};

export function keyTable(keys: readonly KeyRecord[]): AdminTable {
  return tableOf(
    KEY_COLUMNS,
    keys.map((key) => [
      key.id,
      key.account,
      key.name,
      key.team ?? '-',
      key.hint,
      key.status,
      day(key.expiresAt),
      key.rpm === null ? '-' : String(key.rpm),
      budgetText(key),
      key.models?.join(', ') ?? 'all',
    ]),
  );
}
