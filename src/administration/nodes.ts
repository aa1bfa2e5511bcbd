import * as v from 'valibot';
import type { NodeRecord as StoredNode } from '../store/store.ts';
import { defineAdminCommand } from './admin-command.ts';

/** A daemon on the store. Times are ISO 8601. */
interface NodeRecord {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly startedAt: string;
  /** End of its lease, which it extends while it runs. */
  readonly aliveUntil: string;
  readonly isAlive: boolean;
  /** Tasks that it processes. */
  readonly claims: number;
}

function nodeRecord({ startedAt, aliveUntil, ...node }: StoredNode): NodeRecord {
  return {
    ...node,
    startedAt: new Date(startedAt).toISOString(),
    aliveUntil: new Date(aliveUntil).toISOString(),
    isAlive: aliveUntil > Date.now(),
  };
}

const listNodes = defineAdminCommand({
  group: 'nodes',
  name: 'list',
  isTopLevel: true,
  summary: 'Show the daemons that work on the store, and those that died lately',
  positionals: [],
  options: v.strictObject({}),
  examples: ['nodes'],
  run: async (store) => ({ nodes: (await store.listNodes()).map(nodeRecord) }),
  show: ({ nodes }) => ({
    tables: [
      [
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
    ],
    messages: nodes.length === 0 ? ['no daemon works on the store'] : [],
  }),
});

export const NODE_COMMANDS = [listNodes];
