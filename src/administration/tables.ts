import { type AccountRecord, decimal, type KeyRecord, type TeamRecord } from './records.ts';

type Rows = readonly (readonly string[])[];

/** Tables show the day; `--json` prints the time as well. */
const day = (time: string | null) => time?.slice(0, 10) ?? '-';

export function accountTable(accounts: readonly AccountRecord[]): Rows {
  return [
    ['NAME', 'PLAN', 'AVAILABLE', 'RESERVED', 'SPENT', 'GRANTED', 'CREATED', 'ID'],
    ...accounts.map(({ name, plan, credits, createdAt, id }) => [
      name,
      plan,
      decimal(credits.available),
      decimal(credits.reserved),
      decimal(credits.spent),
      decimal(credits.granted),
      day(createdAt),
      id,
    ]),
  ];
}

/** All budgets of a key or a team: `49 of 50, 1.5 of 5 a day`. */
function budgetText({ budget, windows }: Pick<KeyRecord, 'budget' | 'windows'>): string {
  const parts = windows.map(
    ({ period, available, granted }) => `${decimal(available)} of ${decimal(granted)} a ${period}`,
  );
  if (budget) parts.unshift(`${decimal(budget.available)} of ${decimal(budget.granted)}`);
  return parts.join(', ') || '-';
}

export function teamTable(teams: readonly TeamRecord[]): Rows {
  return [
    ['NAME', 'ACCOUNT', 'KEYS', 'SPENT', 'RESERVED', 'BUDGET', 'CREATED', 'ID'],
    ...teams.map((team) => [
      team.name,
      team.account,
      String(team.keys),
      decimal(team.spent),
      decimal(team.reserved),
      budgetText(team),
      day(team.createdAt),
      team.id,
    ]),
  ];
}

export function keyTable(keys: readonly KeyRecord[]): Rows {
  return [
    ['ID', 'ACCOUNT', 'NAME', 'TEAM', 'KEY', 'STATUS', 'EXPIRES', 'RPM', 'BUDGET', 'MODELS'],
    ...keys.map((key) => [
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
  ];
}
