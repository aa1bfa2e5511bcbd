import * as v from 'valibot';
import type { NodeRecord as StoredNode } from '../store/nodes.ts';
import { defineAdminCommand } from './admin-command.ts';

/** A daemon on the store. */
const nodeShape = v.object({
  id: v.string(),
  name: v.string(),
  version: v.string(),
  startedAt: v.pipe(v.string(), v.description('ISO 8601')),
  aliveUntil: v.pipe(v.string(), v.description('end of its lease, which it extends while it runs')),
  isAlive: v.boolean(),
  claims: v.pipe(v.number(), v.description('tasks that it processes')),
});

type NodeRecord = v.InferOutput<typeof nodeShape>;

function nodeRecord({ startedAt, aliveUntil, ...node }: StoredNode, now: number): NodeRecord {
  return {
    ...node,
    startedAt: new Date(startedAt).toISOString(),
    aliveUntil: new Date(aliveUntil).toISOString(),
    isAlive: aliveUntil > now,
  };
}

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
    tables: [
      {
        columns: [
          { minWidth: 8 },
          { dropOrder: 3 },
          {},
          { dropOrder: 4 },
          { dropOrder: 1 },
          { dropOrder: 2 },
          { dropOrder: 0 },
        ],
        rows: [
          ['NAME', 'VERSION', 'STATE', 'TASKS', 'STARTED', 'LEASE UNTIL', 'ID'],
          ...nodes.map(({ name, version, isAlive, claims, startedAt, aliveUntil, id }) => [
            name,
            version,
            isAlive ? 'alive' : 'dead',
            String(claims),
            startedAt,
            aliveUntil,
            id,
          ]),
        ],
      },
    ],
    messages: nodes.length === 0 ? ['no daemon works on the store'] : [],
  }),
});

export const NODE_COMMANDS = [listNodes];
