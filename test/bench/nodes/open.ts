import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Server } from '../daemon/server.ts';
import { fixed, Series, spread } from '../series.ts';
import type { StoreFigures } from '../store/contenders/work.ts';
import { figuresOf, goalOf, tableOf } from '../trial.ts';
import { type Case, emptyFolder, engineOf } from './field.ts';

const GOAL = 'from the start to GET /readyz ≤ 1.10 × without tasks';

export const open: Case = {
  title: 'open: a schema with many tasks',
  goal: GOAL,
  async work(bench, server) {
    const { settings, log, folder } = bench;
    const count = settings.quick ? 100_000 : 1_000_000;
    const none = new Series<'opened' | 'ready'>('0');
    const many = new Series<'opened' | 'ready'>(`${count}`);
    const schemas = [
      { name: 'none', series: none },
      { name: 'many', series: many },
    ];
    const opened = new Set<string>();
    const opening = async (name: string) => {
      const node = emptyFolder(bench, 'node');
      // A schema without accounts gets one at its first opening.
      if (opened.has(name)) mkdirSync(node, { recursive: true });
      opened.add(name);
      const args = [engineOf(server, name).driver, 'open', node, 0];
      return (await figuresOf<StoreFigures>(bench, 'store/contenders/store', args)).seconds * 1000;
    };
    for (const { name, series } of schemas) {
      await opening(name);
      log(`  inserting ${series.name} tasks`);
      await server.sql(fill(name, Number(series.name)));
      await server.sql('ANALYZE');
    }
    for (let round = 0; round < settings.rounds; round += 1) {
      for (const { name, series } of schemas) {
        const milliseconds = await opening(name);
        const { config } = engineOf(server, name);
        const data = emptyFolder(bench, 'data');
        const daemon = await Server.oriel(join(folder, 'daemon'), data, config);
        await daemon.stop('SIGKILL');
        series.add({ opened: milliseconds, ready: daemon.readyAfter });
        log(`  ${name}: ${fixed(milliseconds, 0)} ms, daemon ${fixed(daemon.readyAfter, 0)} ms`);
      }
    }
    return {
      text: `${count} completed tasks and their lines in the ledger, inserted by SQL.`,
      ...tableOf(
        [none, many],
        [
          ['tasks', ({ name }) => name],
          ['opening the store, ms', (series) => spread(series.values('opened'), 0)],
          ['daemon ready, ms', (series) => spread(series.values('ready'), 0)],
        ],
      ),
      goals: [goalOf(GOAL, many.over(none, 'ready'), 1.1)],
      raw: schemas,
    };
  },
};

/** Completed tasks of the first account, each with its charge. */
function fill(schema: string, count: number): string {
  return `
INSERT INTO ${schema}.tasks (id, account_id, key_id, type, model, status, attempts, reserved, charged, created_at,
  updated_at, deadline, bytes, request, record)
SELECT 'task_' || lpad(n::text, 24, '0'), k.account_id, k.id, 'image', 'some-image-model', 'completed', 1, 0, 4000000,
  1763000000000 + n, 1763000000500 + n, 4000000000000, 300,
  '{"prompt":"a harbour at dawn, thin fog over the water","size":"1024x1024","n":1}',
  '{"result":{"created":1700000000,"outputs":[],"usage":null}}'
FROM generate_series(1, ${count}) AS n, ${schema}.keys AS k;
INSERT INTO ${schema}.ledger (account_id, key_id, type, amount, task_id, model, at, available)
SELECT t.account_id, t.key_id, 'charge', 4000000, t.id, t.model, t.updated_at, 0 FROM ${schema}.tasks AS t;
UPDATE ${schema}.accounts SET completed = ${count}, ended_bytes = ${count * 300}::bigint`;
}
