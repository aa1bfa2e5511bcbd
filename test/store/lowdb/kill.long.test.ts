import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { memoryFolder } from '../../oriel.ts';
import { everyTask, findInconsistencies } from '../consistency.ts';

const WRITER = fileURLToPath(new URL('writer-process.mjs', import.meta.url));
const KILLS = Number(process.env['ORIEL_KILLS'] ?? 8);
/** The checks after each kill take longer as a store grows. */
const KILLS_OF_ONE_STORE = 4;

/** Kills a process that writes to a store after some acknowledgements, and returns these. */
async function killed(directory: string, after: number): Promise<string[]> {
  const child = spawn(process.execPath, [WRITER, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line);
    if (lines.length === after) child.kill('SIGKILL');
  }
  expect(await exited).toEqual([null, 'SIGKILL']);
  return lines;
}

describe('kill -9', () => {
  it('loses nothing that was acknowledged', { timeout: 300_000 + KILLS * 10_000 }, async () => {
    let directory = '';
    const known = new Map<string, string[]>();
    for (let kill = 0; kill < KILLS; kill += 1) {
      if (kill % KILLS_OF_ONE_STORE === 0) {
        directory = memoryFolder();
        known.clear();
      }
      for (const line of await killed(directory, 1 + Math.floor(Math.random() * 700))) {
        const [verb, what] = line.split(' ') as [string, string];
        known.set(verb, [...(known.get(verb) ?? []), what]);
      }
      const store = await openLowdbStore({ directory });
      const tasks = await everyTask(store);
      const states = new Map(tasks.map(({ id, status }) => [id, status]));
      const lost = (known.get('made') ?? []).filter((id) => !states.has(id));
      expect(lost).toEqual([]);
      for (const state of ['completed', 'failed']) {
        expect((known.get(state) ?? []).filter((id) => states.get(id) !== state)).toEqual([]);
      }
      for (const hash of known.get('key') ?? []) expect(await store.findKey(hash)).toBeDefined();
      for (const id of known.get('asset') ?? []) expect(await store.findAsset(id)).toBeDefined();
      const delivered = new Set(known.get('delivered'));
      for (const { id, accountId } of tasks.filter((task) => delivered.has(task.id))) {
        const deliveries = await store.listDeliveries(accountId, id);
        expect(deliveries).toMatchObject([{ status: 'delivered', attempts: [{ status: 204 }] }]);
      }
      const { granted, spent } = (await store.statistics()).credits;
      expect(spent).toBeGreaterThanOrEqual((known.get('settled') ?? []).length);
      expect(granted).toBeGreaterThanOrEqual(1_000_000 + 3 * (known.get('granted') ?? []).length);
      expect(await findInconsistencies(store)).toEqual([]);
      for (const key of await store.listKeys()) {
        const rows = (await store.listBudgetWindows()).filter(
          ({ holderId }) => holderId === key.id,
        );
        expect(rows.reduce((sum, row) => sum + row.spent, 0)).toBe(key.spent);
      }
      // Processing tasks are requeued, as a daemon does when it starts.
      for (const orphan of await store.claimOrphans({ limit: 999 }))
        await store.requeueTask(orphan);
      await store.close();
    }
  });
});
