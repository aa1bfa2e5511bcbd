import * as v from 'valibot';
import { field } from '../schema/fields.ts';
import { decimal, inCredits } from '../store/credits.ts';
import { checkIntegrity } from '../store/integrity.ts';
import { defineAdminCommand } from './admin-command.ts';
import { nodeRecord, nodeShape } from './records.ts';
import { nodeTable } from './tables.ts';

const audit = defineAdminCommand({
  group: 'store',
  name: 'audit',
  summary: 'Compare every sum of credits with its records',
  options: v.strictObject({}),
  result: v.object({
    accounts: v.number(),
    keys: v.number(),
    tasks: v.number(),
    ledgerEntries: v.number(),
    granted: field(v.number(), 'credits of all accounts'),
    reserved: v.number(),
    spent: v.number(),
    faults: field(v.array(v.string()), 'sums that differ; empty where all agree'),
  }),
  examples: ['store audit', 'store audit --json'],
  run: async (store) => {
    const report = await checkIntegrity(store.transfer.read());
    return { ...report, ...inCredits(report), faults: [...report.faults] };
  },
  show: ({ faults, ...sums }) => ({
    tables: [{ rows: Object.entries(sums).map(([name, value]) => [name, decimal(value)]) }],
    messages: faults.length === 0 ? ['every sum agrees with its records'] : faults,
    exitCode: faults.length === 0 ? 0 : 1,
  }),
});

const listNodes = defineAdminCommand({
  group: 'nodes',
  name: 'list',
  isTopLevel: true,
  summary: 'Show the daemons on the store, and daemons that died lately',
  options: v.strictObject({}),
  result: v.object({ nodes: v.array(nodeShape) }),
  examples: ['nodes'],
  run: async (store) => ({
    nodes: (await store.listNodes()).map((node) => nodeRecord(node, store.now)),
  }),
  show: ({ nodes }) => ({
    tables: [nodeTable(nodes)],
    messages: nodes.length === 0 ? ['no daemon works on the store'] : [],
  }),
});

export const NODE_COMMANDS = [listNodes];
export const STORE_COMMANDS = [audit];
