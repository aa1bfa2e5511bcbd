import { expect, it } from 'vitest';
import { openStore } from '../../../src/store/drivers/open.ts';
import { describeWithPostgres } from '../../engines/postgres.ts';
import { temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { completionOf, owner, taskFor } from '../../store/records.ts';

const resident = residentCommand();

/** Tasks of the store that moves. */
const TASKS = 3000;

describeWithPostgres('oriel store', (server) => {
  it(`copy moves ${TASKS} tasks from a folder to PostgreSQL and back unchanged`, async () => {
    const [folder, back] = [temporaryFolder(), temporaryFolder()];
    const store = await openStore({ directory: `${folder}/store` });
    const { key } = await owner(store, 1_000_000_000);
    const reservation = 1000;
    await Promise.all(
      Array.from({ length: TASKS }, async (_, index) => {
        const { task } = await store.createTask(taskFor(key, { reservation }));
        if (index % 10 === 0) return;
        const claim = (await store.claimTask(task.id))!;
        await store.completeTask(claim, completionOf({ charge: index % 7 }));
      }),
    );
    await store.close();
    const env = { DATABASE_URL: `${server().url}?schema=moved` };

    const copy = (from: string, to: string, ...flags: string[]) =>
      resident(words`store copy --from ${from} --to ${to} ${flags}`, { env });
    const there = await copy(folder, 'env:DATABASE_URL', '--json');
    expect(there).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(there.out)).toMatchObject({ accounts: 1, tasks: TASKS, faults: [] });
    const again = await copy(folder, 'env:DATABASE_URL');
    expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('has records') });
    const home = await copy('env:DATABASE_URL', back);
    expect(home).toMatchObject({
      status: 0,
      out: expect.stringContaining(`and ${TASKS} tasks; `),
    });
    expect(await recordsOf(back)).toEqual(await recordsOf(folder));

    const audit = await resident(words`store audit --data ${back}`);
    expect(audit).toMatchObject({ status: 0 });
  });

  it('copy names a folder without a store, a file, and a variable that is missing', async () => {
    const folder = temporaryFolder();
    const missing = await resident(['store', 'copy', '--from', folder, '--to', temporaryFolder()]);
    expect(missing).toMatchObject({ status: 1, stderr: expect.stringContaining('no store') });
    const file = await resident(words`store copy --from package.json --to ${folder}`);
    expect(file).toMatchObject({
      status: 1,
      stderr: 'oriel: package.json: expected a data folder, and it is a file\n',
    });
    const unset = await resident(words`store copy --from env:NOWHERE --to ${folder}`);
    expect(unset).toMatchObject({ status: 2, stderr: expect.stringContaining('NOWHERE') });
  });
});

async function recordsOf(folder: string): Promise<unknown[]> {
  const store = await openStore({ directory: `${folder}/store` });
  const records: unknown[] = [];
  for await (const record of store.transfer.read()) records.push(record);
  await store.close();
  return records;
}
