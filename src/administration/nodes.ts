import * as v from 'valibot';
import { defineAdminCommand } from './admin-command.ts';
import { nodeRecord, nodeShape } from './records.ts';
import { nodeTable } from './tables.ts';

const listNodes = defineAdminCommand({
  group: 'nodes',
  name: 'list',
  isTopLevel: true,
  summary: 'Show the daemons that work on the store, and those that died lately',
  positionals: [],
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
