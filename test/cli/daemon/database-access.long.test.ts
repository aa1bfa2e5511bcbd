import { cpSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../../src/store/drivers/open.ts';
import { startDaemon } from '../../daemon.ts';
import { describeWithPostgres } from '../../engines/postgres.ts';
import { temporaryFolder, words } from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { owner } from '../../store/records.ts';

const resident = residentCommand();

describeWithPostgres('commands whose configuration has store.driver: postgres', (server) => {
  const configOf = (schema: string) => ({
    store: { driver: 'postgres', url: '${DATABASE_URL}', schema },
  });
  /** A folder with a configuration. */
  const place = (schema: string) => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'oriel.yaml'), JSON.stringify(configOf(schema)));
    return { cwd, env: { DATABASE_URL: server().url } };
  };
  const namesIn = (folder: string) => readdirSync(folder, { recursive: true }).toSorted();

  it('refuse a folder with a store of its own, and write nothing into it', async () => {
    const data = temporaryFolder();
    const store = await openStore({ directory: join(data, 'store') });
    await owner(store);
    await store.close();
    const before = namesIn(data);
    const here = place('refused');
    const command = words`store audit --data ${data}`;
    const { status, stderr } = await resident(command, here);
    expect(status).toBe(1);
    const { port } = server();
    expect(stderr).toBe(
      `oriel: ${data}: has a store of its own, and the configuration has postgres://127.0.0.1:${port}/postgres?schema=refused; ` +
        'leave out --data for the database, or name a configuration without store by --config for the folder\n',
    );
    const folder = join(temporaryFolder(), 'folder.yaml');
    writeFileSync(folder, '{}');
    expect(await resident([...command, '--config', folder], here)).toMatchObject({ status: 0 });
    expect(namesIn(data)).toEqual(before);
    // The folder of the configuration may have the store of the time before PostgreSQL.
    cpSync(data, join(here.cwd, 'data'), { recursive: true });
    expect(await resident(['store', 'audit', '--data', 'data'], here)).toMatchObject({ status: 0 });
  });

  it('write nothing into the folder where no node has used it', async () => {
    const here = place('alone');
    expect(await resident(['store', 'audit'], here)).toMatchObject({ status: 0 });
    expect(await resident(['accounts', 'list', '--data', 'node'], here)).toMatchObject({
      status: 0,
    });
    expect(namesIn(here.cwd)).toEqual(['oriel.yaml']);
  });

  it('leave the charges of a node to it, and its folder to the database', async () => {
    const here = place('left');
    const daemon = await startDaemon({ config: configOf('left'), env: here.env });
    const { data } = daemon;
    await daemon.stop('SIGKILL');
    const charges = join(data, 'store', 'charges', 'node_x.0.log');
    writeFileSync(charges, '');
    expect(await resident(['accounts', 'list', '--data', data], here)).toMatchObject({ status: 0 });
    expect(existsSync(charges)).toBe(true);
    const elsewhere = temporaryFolder();
    const command = words`accounts create ci --data ${data}`;
    const { status, stderr } = await resident(command, { cwd: elsewhere });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: `oriel: ${data}: belongs to a node over PostgreSQL, which does not run; name its configuration by --config\n`,
    });
  });

  it('are refused by a daemon over another database, without passwords', async () => {
    const here = place('right');
    const daemon = await startDaemon({ config: configOf('right'), env: here.env });
    const command = ['accounts', 'create', 'ci', '--data', daemon.data];
    const url = new URL(server().url);
    url.password = 'secret-password';
    url.pathname = '/other';
    const env = { DATABASE_URL: url.href };
    const refused = await resident(command, { cwd: here.cwd, env });
    expect(refused.status).toBe(1);
    const { port } = server();
    expect(refused.stderr).toContain(
      `uses postgres://127.0.0.1:${port}/postgres?schema=right, and the configuration of the command has postgres://127.0.0.1:${port}/other?schema=right; `,
    );
    expect(refused.stderr).not.toContain('secret-password');
    expect(await resident(command, here)).toMatchObject({ status: 0 });
    // Without a configuration the daemon of the folder decides.
    const list = await resident(['accounts', 'list', '--data', daemon.data], {
      cwd: temporaryFolder(),
    });
    expect(list).toMatchObject({ status: 0, out: expect.stringContaining('ci') });
  });
});
