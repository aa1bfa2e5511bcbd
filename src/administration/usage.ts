import * as v from 'valibot';
import { Failure } from '../failure.ts';
import { day, field } from '../schema/fields.ts';
import type { Account } from '../store/account.ts';
import { toCredits } from '../store/credits.ts';
import { notFound } from '../store/errors.ts';
import { dayOf, NO_USAGE, type UsageCounts, type UsageRow } from '../store/ledger.ts';
import type { Store } from '../store/store.ts';
import { sumUsage, type UsageDimension, type UsageFilter } from '../store/usage-report.ts';
import { defineAdminCommand } from './admin-command.ts';
import {
  accountReference,
  keyReference,
  modelName,
  teamReference,
  usageColumns,
} from './fields.ts';
import { requireAccount, requireKey } from './find.ts';
import { decimal } from './records.ts';

/** Usage and credits, as a decimal. */
interface UsageTotal extends UsageCounts {
  readonly credits: number;
}

/** One sum of a report. It has the names by which the report sums. */
interface UsageRecord extends UsageTotal {
  readonly account?: string;
  /** The name of the team and its identifier; null without one. */
  readonly team?: string | null;
  readonly teamId?: string | null;
  /** The name of the key and its identifier; null where earlier versions recorded none. */
  readonly key?: string | null;
  readonly keyId?: string | null;
  readonly model?: string;
  readonly day?: string;
}

interface UsageReport {
  readonly from: string;
  readonly to: string;
  readonly by: readonly UsageDimension[];
  readonly rows: readonly UsageRecord[];
  readonly total: UsageTotal;
}

const DAY = 86_400_000;

/** Days of a report where no first one is given. */
const DEFAULT_DAYS = 30;

interface References {
  readonly account?: string | undefined;
  readonly team?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
}

/** @throws Failure where there is no such team or key */
async function filterOf(
  store: Store,
  { team, key, model }: References,
  accounts: readonly Account[],
): Promise<UsageFilter> {
  const teams = (await store.listTeams()).filter(
    ({ id, name, accountId }) =>
      (id === team || name === team) && accounts.some((account) => account.id === accountId),
  );
  if (team !== undefined && teams.length === 0) throw notFound('team', team);
  const { hashOf } = await import('../store/key.ts');
  const found = key === undefined ? undefined : await requireKey(store, key, hashOf(key));
  return {
    teamIds: team === undefined ? undefined : new Set(teams.map(({ id }) => id)),
    keyIds: found && new Set([found.id]),
    model,
  };
}

/** Compares texts in the order of their code points, null first. */
function compare(one: string | null, other: string | null): number {
  if (one === other) return 0;
  return (one ?? '') < (other ?? '') ? -1 : 1;
}

const reportUsage = defineAdminCommand({
  group: 'usage',
  name: 'report',
  isTopLevel: true,
  summary: 'Show requests, tokens and credits by account, team, key, model and day',
  positionals: [],
  options: v.strictObject({
    by: v.optional(usageColumns('what one row is the sum of'), 'account,model'),
    from: v.optional(field(day(), 'the first day, UTC; 29 days before the last')),
    to: v.optional(field(day(), 'the last day, UTC; today')),
    account: v.optional(accountReference('only this account')),
    team: v.optional(teamReference('only what keys used while they were in this team')),
    key: v.optional(
      keyReference('only this key: its id or the beginning of it, its hint, or the key itself'),
    ),
    model: v.optional(modelName('only this model, or this endpoint of image tools')),
    csv: v.optional(field(v.boolean(), 'print comma-separated values instead of a table'), false),
  }),
  examples: ['usage', 'usage --by key,model,day --account ci --csv'],
  run: async (store, { by, ...options }): Promise<UsageReport> => {
    const to = options.to ?? dayOf(Date.now());
    const from = options.from ?? dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY);
    if (from > to) {
      const message = `--from: expected a day up to ${to}, received ${from}`;
      throw new Failure('invalid_request', message, { param: 'from' });
    }
    const accounts =
      options.account === undefined
        ? await store.listAccounts()
        : [await requireAccount(store, options.account)];
    const filter = await filterOf(store, options, accounts);
    const rows: UsageRow[] = [];
    for (const { id } of accounts) rows.push(...(await store.listUsage(id, { from, to })));
    const nameOf = await namesIn(store, accounts);
    const records = sumUsage(rows, by, filter)
      .map(({ names, spent, ...counts }) => {
        const name = (dimension: UsageDimension) => nameOf(dimension, names[dimension] ?? null);
        const order = by.flatMap((dimension) => [name(dimension), names[dimension] ?? null]);
        const { account, team, key, model, day: date } = names;
        const record: UsageRecord = {
          ...(account != null && { account: name('account')! }),
          ...(team !== undefined && { team: name('team'), teamId: team }),
          ...(key !== undefined && { key: name('key'), keyId: key }),
          ...(model != null && { model }),
          ...(date != null && { day: date }),
          ...counts,
          credits: toCredits(spent),
        };
        return { order, record };
      })
      .sort((one, other) => {
        for (const [at, text] of one.order.entries()) {
          const difference = compare(text, other.order[at]!);
          if (difference !== 0) return difference;
        }
        return 0;
      })
      .map(({ record }) => record);
    const [total = { names: {}, ...NO_USAGE, spent: 0 }] = sumUsage(rows, [], filter);
    const { names: _, spent, ...counts } = total;
    return { from, to, by, rows: records, total: { ...counts, credits: toCredits(spent) } };
  },
  show: (report, { csv }) =>
    csv ? { value: csvOf(report) } : { tables: [tableOf(report)], messages: [summaryOf(report)] },
});

/** A function for the name of an account, a team or a key with an identifier; other names stay. */
async function namesIn(store: Store, accounts: readonly Account[]) {
  const all = [...accounts, ...(await store.listTeams()), ...(await store.listKeys())];
  const names = new Map(all.map(({ id, name }) => [id, name]));
  return (dimension: UsageDimension, value: string | null): string | null =>
    value !== null && ['account', 'team', 'key'].includes(dimension)
      ? (names.get(value) ?? value)
      : value;
}

const COUNTS = [
  ['requests', 'requests'],
  ['inputTokens', 'input_tokens'],
  ['cachedInputTokens', 'cached_input_tokens'],
  ['outputTokens', 'output_tokens'],
  ['outputs', 'outputs'],
] as const;

function tableOf({ by, rows, total }: UsageReport): string[][] {
  const countsOf = (record: UsageTotal) => [
    ...COUNTS.map(([name]) => String(record[name])),
    decimal(record.credits),
  ];
  const cell = (record: UsageRecord, dimension: UsageDimension) => {
    const name = record[dimension] ?? '-';
    // Names of keys need not be unique.
    return dimension === 'key' && record.keyId ? `${name} (${record.keyId})` : name;
  };
  return [
    [
      ...by.map((dimension) => dimension.toUpperCase()),
      ...['REQUESTS', 'INPUT', 'CACHED', 'OUTPUT', 'OUTPUTS', 'CREDITS'],
    ],
    ...rows.map((record) => [
      ...by.map((dimension) => cell(record, dimension)),
      ...countsOf(record),
    ]),
    ...(rows.length > 1
      ? [[...by.map((_, at) => (at === 0 ? 'total' : '')), ...countsOf(total)]]
      : []),
  ];
}

const summaryOf = ({ from, to }: UsageReport) => `usage from ${from} to ${to}, days of UTC`;

/** A field of CSV (RFC 4180). */
const quoted = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function csvOf({ by, rows }: UsageReport): string {
  const hasId = (dimension: UsageDimension) => dimension === 'team' || dimension === 'key';
  const header = [
    ...by.flatMap((dimension) => (hasId(dimension) ? [dimension, `${dimension}_id`] : dimension)),
    ...COUNTS.map(([, title]) => title),
    'credits',
  ];
  const lines = rows.map((record) => [
    ...by.flatMap((dimension) => {
      const name = record[dimension] ?? '';
      if (dimension === 'team') return [name, record.teamId ?? ''];
      return dimension === 'key' ? [name, record.keyId ?? ''] : name;
    }),
    ...COUNTS.map(([name]) => String(record[name])),
    decimal(record.credits),
  ]);
  return [header, ...lines].map((line) => line.map(quoted).join(',')).join('\n');
}

export const USAGE_COMMANDS = [reportUsage];
