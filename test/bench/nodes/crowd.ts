import { fixed, quantile } from '../series.ts';
import { built, figuresOf } from '../trial.ts';
import type { CrowdFigures } from './contenders/crowd.ts';
import { type Case, emptyFolder, engineOf } from './field.ts';

/** What a statement is for, by its text. */
const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['hints', /pg_notify/],
  [
    'heartbeats',
    /SET escrow_until|WHERE alive_until|escrows AS e WHERE NOT|DELETE FROM \S*(?:nodes|writers)/,
  ],
  ['searches', /has_pending|tasks AS t\s+WHERE t\.status|deliveries/],
];

function kindOf(query: string): string {
  return KINDS.find(([, pattern]) => pattern.test(query))?.[0] ?? 'transactions';
}

const LOADS = [
  { load: 'idle', rate: 0, text: 'no requests' },
  { load: 'text', rate: 10, text: '10 text requests a second and node' },
  { load: 'tasks', rate: 1, text: 'one task a second and node' },
  { load: 'spill', rate: 60, text: '60 tasks a second at one node with slots for 16' },
] as const;
const SIZES = [1, 3, 10, 30, 100];

/** Statements and CPU of one PostgreSQL by the number of nodes. */
export const crowd: Case = {
  title: 'crowd: up to 100 nodes over one PostgreSQL',
  goal: '',
  async work(bench, server) {
    const { settings, log } = bench;
    const seconds = settings.quick ? 4 : 10;
    // Escrows follow what an account spends in a minute.
    const warmUp = settings.quick ? 2 : 15;
    const rows: string[][] = [];
    const raw: object[] = [];
    for (const { load, rate } of LOADS) {
      for (const nodes of SIZES) {
        const { driver } = engineOf(server, `crowd_${load}_${nodes}`);
        const args = [driver, built('media/queue/task-claimer.js'), server.url, server.folder];
        const figures = await figuresOf<CrowdFigures>(bench, 'nodes/contenders/crowd', [
          ...args,
          ...[
            emptyFolder(bench, 'node'),
            load,
            nodes,
            rate,
            warmUp,
            seconds,
            Math.ceil(nodes / 25),
          ],
        ]);
        const { seconds: took, cpu, requests, tasks, hints, waits, statements } = figures;
        const sums = new Map<string, { calls: number; rows: number }>();
        for (const { query, calls, rows: returned } of statements) {
          const sum = sums.get(kindOf(query)) ?? { calls: 0, rows: 0 };
          sums.set(kindOf(query), { calls: sum.calls + calls, rows: sum.rows + returned });
        }
        const each = (kind: string) => fixed((sums.get(kind)?.calls ?? 0) / took, 0);
        const all = [...sums.values()].reduce((sum, { calls }) => sum + calls, 0) / took;
        const row = [
          ...[load, `${nodes}`, fixed((requests + tasks) / took, 0), fixed(all, 0)],
          ...['heartbeats', 'searches', 'hints', 'transactions'].map(each),
          ...[fixed(hints / took, 0), fixed((cpu / took) * 100, 0)],
          waits.length === 0
            ? ''
            : `${fixed(quantile(waits, 0.5), 0)}, ${fixed(quantile(waits, 0.99), 0)}`,
        ];
        rows.push(row);
        raw.push({
          load,
          nodes,
          ...figures,
          waits: waits.length,
          statements: statements.slice(0, 12),
        });
        log(`  ${row.join('  ')}`);
        await server.sql(`DROP SCHEMA crowd_${load}_${nodes} CASCADE`);
      }
    }
    return {
      text: `${LOADS.map(({ load, text }) => `${load}: ${text}`).join('; ')}. Tasks take half a second. Statements a second by what they are for; hints that nodes received; CPU of the server.`,
      headings: [
        ...['load', 'nodes', 'work/s', 'statements/s', 'heartbeats', 'searches', 'hints'],
        ...['transactions', 'hints received/s', 'CPU %', 'wait of a task, p50 and p99 ms'],
      ],
      rows,
      raw,
    };
  },
};
