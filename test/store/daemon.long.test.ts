import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/drivers/open.ts';
import { contentBelow } from '../cli/folder.ts';
import { OWNER_KEY, startDaemon } from '../daemon.ts';
import { oriel, temporaryFolder } from '../oriel.ts';
import { claimOf } from './consistency.ts';
import { BROKEN, owner, taskFor } from './records.ts';

const drawing = { model: 'sandbox-image', prompt: 'a lighthouse at dusk' };

const serve = (data: string) => ['serve', '--port', '0', '--data', data];

describe('a daemon', () => {
  it('does not start, and sweeps no asset, without the journal or the manifest', async () => {
    const { data, send, stop } = await startDaemon();
    const answer = await send('/v1/images/generations/sync', drawing);
    expect(answer.status).toBe(200);
    await stop();
    const content = () => {
      const files = contentBelow(data);
      files.delete('store/lock');
      return files;
    };
    for (const which of [/journal$/, /store\.json$/]) {
      const name = [...content().keys()].find((path) => which.test(path))!;
      const path = join(data, name);
      renameSync(path, `${data}.away`);
      const before = content();
      const { status, stderr } = await oriel(serve(data), {
        env: { ORIEL_BOOTSTRAP_KEY: OWNER_KEY },
      });
      expect(status).not.toBe(0);
      expect(stderr).toContain(basename(name));
      expect(content()).toEqual(before);
      renameSync(`${data}.away`, path);
    }
  });

  it('acknowledges nothing while its data folder is renamed', async () => {
    const data = join(temporaryFolder(), 'data');
    mkdirSync(data);
    const { send } = await startDaemon({ data });
    const make = () => send('/v1/images/generations/sync', drawing);
    expect((await make()).status).toBe(200);
    renameSync(data, `${data}.away`);
    const answer = await make();
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ error: { code: 'storage_unavailable' } });
    renameSync(`${data}.away`, data);
    expect((await make()).status).toBe(200);
  });

  it('deletes nothing while its clock is far ahead and not accepted', async () => {
    const data = temporaryFolder();
    const directory = join(data, 'store');
    const store = await openStore({ directory, now: () => Date.UTC(2020, 0, 1) });
    const { key } = await owner(store);
    const { task } = await store.createTask(taskFor(key, { reservation: 0 }));
    await store.failTask(await claimOf(store, task.id), BROKEN);
    await store.close();
    const tasks = async () => {
      const opened = await openStore({ directory });
      const found = await opened.listTasks({}, { limit: 9 });
      await opened.close();
      return found.length;
    };
    const doubting = await startDaemon({ data });
    const line = doubting.log.find(({ msg }) => msg.includes('--accept-clock'));
    expect(line).toMatchObject({ level: 'warn', newest: '2020-01-01T00:00:00.000Z' });
    await doubting.stop();
    expect(await tasks()).toBe(1);
    const believing = await startDaemon({ data, args: ['--accept-clock'] });
    await believing.stop();
    expect(await tasks()).toBe(0);
  });

  it('deletes nothing once its clock has jumped ahead', async () => {
    const clock = join(temporaryFolder(), 'clock');
    writeFileSync(clock, '0');
    const preload = new URL('../media/tasks/clock.mjs', import.meta.url).href;
    const { send, logged } = await startDaemon({
      config: { limits: { retention: '100s' } },
      env: { NODE_OPTIONS: `--import=${preload}`, ORIEL_TEST_CLOCK: clock },
    });
    await send('/v1/images/generations/sync', drawing);
    writeFileSync(clock, String(2 * 86_400_000));
    const { err } = await logged('expired records or files could not be removed');
    expect(err).toMatchObject({ message: expect.stringContaining('the clock has jumped ahead') });
    const { data } = (await (await send('/v1/tasks')).json()) as { data: readonly object[] };
    expect(data.length).toBe(1);
  });
});
