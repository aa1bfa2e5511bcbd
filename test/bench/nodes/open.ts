import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Trial } from '../cases.ts';
import { Server } from '../daemon/server.ts';
import { fixed, goalOf, spread } from '../daemon/trial.ts';
import type { StoreFigures } from '../store/contenders/work.ts';
import { emptyFolder, engineOf, figuresOf } from './field.ts';
import type { Postgres } from './postgres.ts';

export const OPEN = {
  title: 'open: a schema with many tasks',
  goal: 'from the start to GET /readyz ≤ 1.10 × without tasks',
};

export async function open(bench: Bench, server: Postgres): Promise<Trial> {
  const { settings, log, folder } = bench;
  const count = settings.quick ? 100_000 : 1_000_000;
  const schemas = [
    { name: 'none', tasks: 0, opened: [] as number[], ready: [] as number[] },
    { name: 'many', tasks: count, opened: [] as number[], ready: [] as number[] },
  ];
  const opening = async (name: string) => {
    const args = [engineOf(server, name).driver, 'open', emptyFolder(bench, 'node'), '0'];
    // A schema without accounts gets one at its first opening.
    if (opened.has(name)) mkdirSync(args[2]!, { recursive: true });
    opened.add(name);
    return (await figuresOf<StoreFigures>(bench, '../store/contenders/store', args)).seconds * 1000;
  };
  const opened = new Set<string>();
  for (const { name, tasks } of schemas) {
    await opening(name);
    log(`  inserting ${tasks} tasks`);
    await server.sql(fill(name, tasks));
    await server.sql('ANALYZE');
  }
  for (let round = 0; round < settings.rounds; round += 1) {
    for (const { name, opened: times, ready } of schemas) {
      times.push(await opening(name));
      const data = emptyFolder(bench, 'data');
      const daemon = await Server.oriel(
        join(folder, 'daemon'),
        data,
        engineOf(server, name).config,
      );
      ready.push(daemon.readyAfter);
      await daemon.kill();
      log(`  ${name}: ${fixed(times.at(-1), 0)} ms, daemon ${fixed(ready.at(-1), 0)} ms`);
    }
  }
  const [none, many] = schemas;
  const ratios = many!.ready.map((time, round) => time / none!.ready[round]!);
  return {
    section: {
      title: OPEN.title,
      text: `${count} completed tasks and their lines in the ledger, inserted by SQL.`,
      table: {
        headings: ['tasks', 'opening the store, ms', 'daemon ready, ms'],
        rows: schemas.map(({ tasks, opened: times, ready }) => [
          String(tasks),
          spread(times, 0),
          spread(ready, 0),
        ]),
      },
    },
    goals: [goalOf('open', OPEN.goal, ratios, 1.1, 'lower')],
    faults: [],
    raw: schemas,
  };
}

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
