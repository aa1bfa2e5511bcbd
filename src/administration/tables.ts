import { type AccountRecord, decimal, type KeyRecord } from './records.ts';

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

export function keyTable(keys: readonly KeyRecord[]): Rows {
  return [
    ['ID', 'ACCOUNT', 'NAME', 'KEY', 'STATUS', 'EXPIRES', 'RPM', 'BUDGET', 'MODELS'],
    ...keys.map(({ id, account, name, hint, status, expiresAt, rpm, budget, models }) => [
      id,
      account,
      name,
      hint,
      status,
      day(expiresAt),
      rpm === null ? '-' : String(rpm),
      budget === null ? '-' : `${decimal(budget.available)} of ${decimal(budget.granted)}`,
      models?.join(', ') ?? 'all',
    ]),
  ];
}
