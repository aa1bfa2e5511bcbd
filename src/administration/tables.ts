import { decimal } from '../store/credits.ts';
import type { AdminTable, Column } from './admin-command.ts';
import type { AccountRecord, KeyRecord, NodeRecord, TeamRecord } from './records.ts';

/** Tables show the day; `--json` prints the time as well. */
const day = (time: string | null) => time?.slice(0, 10) ?? '-';

/** Date and time in UTC. @param seconds since the epoch */
export const timeOf = (seconds: number) =>
  new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');

/** The text of each cell by the title of its column. Columns with `dropOrder` are left out of a narrow terminal. */
type Columns<Item> = Readonly<
  Record<string, readonly [text: (item: Item) => string, width: Column]>
>;

/** A column of identifiers of which commands take the beginning too. */
export const ID_COLUMN: Column = { minWidth: 12, cut: (text, columns) => text.slice(0, columns) };

export const tableOf =
  <Item>(columns: Columns<Item>) =>
  (items: readonly Item[]): AdminTable => ({
    columns: Object.values(columns).map(([, width]) => width),
    rows: [
      Object.keys(columns),
      ...items.map((item) => Object.values(columns).map(([text]) => text(item))),
    ],
  });

export const accountTable = tableOf<AccountRecord>({
  NAME: [({ name }) => name, { minWidth: 8 }],
  PLAN: [({ plan }) => plan, { dropOrder: 5 }],
  AVAILABLE: [({ credits }) => decimal(credits.available), {}],
  RESERVED: [({ credits }) => decimal(credits.reserved), { dropOrder: 2 }],
  SPENT: [({ credits }) => decimal(credits.spent), { dropOrder: 4 }],
  GRANTED: [({ credits }) => decimal(credits.granted), { dropOrder: 3 }],
  CREATED: [({ createdAt }) => day(createdAt), { dropOrder: 1 }],
  ID: [({ id }) => id, { dropOrder: 0 }],
});

/** What is left of all budgets of a key or a team: `49 of 50, 1.5 of 5 a day`. */
function budgetText({ budget, windows }: Pick<KeyRecord, 'budget' | 'windows'>): string {
  const parts = windows.map(
    ({ period, available, granted }) => `${decimal(available)} of ${decimal(granted)} a ${period}`,
  );
  if (budget) parts.unshift(`${decimal(budget.available)} of ${decimal(budget.granted)}`);
  return parts.join(', ') || '-';
}

/** Limits of a key or a team beside its budgets: `60 rpm, 8 at once`. */
function limitText({ rpm, tpm, parallel }: Partial<KeyRecord>): string {
  const limits = [rpm && `${rpm} rpm`, tpm && `${tpm} tpm`, parallel && `${parallel} at once`];
  return limits.filter(Boolean).join(', ') || '-';
}

export const teamTable = tableOf<TeamRecord>({
  NAME: [({ name }) => name, { minWidth: 8 }],
  ACCOUNT: [({ account }) => account, { minWidth: 8, dropOrder: 6 }],
  KEYS: [({ keys }) => String(keys), { dropOrder: 3 }],
  SPENT: [({ spent }) => decimal(spent), { dropOrder: 5 }],
  RESERVED: [({ reserved }) => decimal(reserved), { dropOrder: 2 }],
  'BUDGET LEFT': [budgetText, { minWidth: 8, dropOrder: 4, cut: 'end' }],
  LIMITS: [limitText, { minWidth: 8, dropOrder: 1, cut: 'end' }],
  CREATED: [({ createdAt }) => day(createdAt), { dropOrder: 1 }],
  ID: [({ id }) => id, { dropOrder: 0 }],
});

export const keyTable = tableOf<KeyRecord>({
  ID: [({ id }) => id, ID_COLUMN],
  ACCOUNT: [({ account }) => account, { minWidth: 8, dropOrder: 6 }],
  NAME: [({ name }) => name, { minWidth: 8 }],
  TEAM: [({ team }) => team ?? '-', { minWidth: 8, dropOrder: 1 }],
  KEY: [({ hint }) => hint, { dropOrder: 2 }],
  STATUS: [({ status }) => status, { dropOrder: 7 }],
  EXPIRES: [({ expiresAt }) => day(expiresAt), { dropOrder: 3 }],
  LIMITS: [limitText, { minWidth: 8, dropOrder: 4, cut: 'end' }],
  'BUDGET LEFT': [budgetText, { minWidth: 8, dropOrder: 5, cut: 'end' }],
  MODELS: [({ models }) => models?.join(', ') ?? 'all', { minWidth: 8, dropOrder: 0 }],
});

export const nodeTable = tableOf<NodeRecord>({
  NAME: [({ name }) => name, { minWidth: 8 }],
  VERSION: [({ version }) => version, { dropOrder: 3 }],
  STATE: [({ isAlive }) => (isAlive ? 'alive' : 'dead'), {}],
  TASKS: [({ claims }) => String(claims), { dropOrder: 4 }],
  STARTED: [({ startedAt }) => startedAt, { dropOrder: 1 }],
  'LEASE UNTIL': [({ aliveUntil }) => aliveUntil, { dropOrder: 2 }],
  ID: [({ id }) => id, { dropOrder: 0 }],
});
