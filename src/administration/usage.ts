import * as v from 'valibot';
import { day, optional, withDefault } from '../schema/fields.ts';
import { decimal } from '../store/credits.ts';
import { isTagDimension, type UsageDimension } from '../store/usage-report.ts';
import { type AdminTable, defineAdminCommand } from './admin-command.ts';
import {
  accountReference,
  keyReference,
  modelName,
  teamReference,
  usageColumns,
} from './fields.ts';
import { requireKey } from './find.ts';
import {
  COUNTS,
  cellOf,
  csvOf,
  reportNamed,
  type UsageRecord,
  type UsageReport,
  type UsageTotal,
} from './usage-report.ts';

const report = defineAdminCommand({
  group: 'usage',
  name: 'report',
  isTopLevel: true,
  summary: 'Show requests, tokens and credits by account, team, key, model, day and tag',
  options: v.strictObject({
    by: v.optional(usageColumns('group rows by'), 'account,model'),
    from: optional(day(), 'first day (UTC); 29 days before the last by default'),
    to: optional(day(), 'last day (UTC); today by default'),
    account: v.optional(accountReference('only this account')),
    team: v.optional(teamReference('only usage of keys while they were in this team')),
    key: v.optional(keyReference('only this key')),
    model: v.optional(modelName('only this model or image endpoint')),
    csv: withDefault(v.boolean(), false, 'print comma-separated values instead of a table'),
  }),
  examples: ['usage', 'usage --by key,model,day --account ci --csv', 'usage --by tag:run'],
  run: async (store, { csv: _, key, ...options }) => {
    const keyId = key === undefined ? undefined : (await requireKey(store, key)).id;
    return reportNamed(store, { ...options, keyId });
  },
  show: (result, { csv }) =>
    csv ? { value: csvOf(result) } : { tables: [tableOf(result)], messages: [summaryOf(result)] },
});

function tableOf(report: UsageReport): AdminTable {
  return { rows: rowsOf(report), columns: columnsOf(report) };
}

function rowsOf({ by, rows, total }: UsageReport): string[][] {
  const countsOf = (record: UsageTotal) => [
    ...COUNTS.map(([name]) => String(record[name])),
    decimal(record.credits),
  ];
  const cell = (record: UsageRecord, dimension: UsageDimension) => {
    const name = cellOf(record, dimension) ?? '-';
    // Names of keys need not be unique.
    return dimension === 'key' && record.keyId ? `${name} (${record.keyId})` : name;
  };
  return [
    [
      // Names of tags keep their case.
      ...by.map((one) => (isTagDimension(one) ? `TAG:${one.slice(4)}` : one.toUpperCase())),
      ...COUNTS.map(([, , title]) => title),
      'CREDITS',
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

const columnsOf = ({ by }: UsageReport) => [
  ...by.map(() => ({ minWidth: by.length === 1 ? 20 : 12 })),
  ...COUNTS.map(([, , , dropOrder]) => ({ dropOrder })),
  {},
];

const summaryOf = ({ from, to }: UsageReport) => `usage from ${from} to ${to}, days of UTC`;

export const USAGE_COMMANDS = [report];
