import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { filesBelow } from '../cli/folder.ts';
import { HAS_TERMINAL, startInTerminal } from '../cli/in-terminal.ts';
import { OWNER_KEY, sharedDaemon, startDaemon } from '../daemon.ts';
import { oriel, temporaryFolder } from '../oriel.ts';
import { residentCommand } from '../resident.ts';

const daemon = sharedDaemon();
const command = residentCommand();

const KEY_FILE_MESSAGE = "the owner's first API key is in a file; store it safely, then delete it";

describe('the first start', () => {
  const FIRST = { env: { ORIEL_BOOTSTRAP_KEY: undefined } };

  const keyIn = (data: string) => readFileSync(join(data, 'first-key'), 'utf8').trim();

  it('writes a working key to a file and logs the path alone', async () => {
    const data = temporaryFolder();
    const first = await startDaemon({ ...FIRST, data });
    const file = join(data, 'first-key');
    const hint = expect.stringMatching(/^sk-oriel-\w{4}…\w{4}$/);
    expect(await first.logged(KEY_FILE_MESSAGE)).toMatchObject({ file, hint });
    const key = keyIn(data);
    expect(key).toMatch(/^sk-oriel-\w{43}$/);
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    const { stderr, out } = await first.stop('SIGKILL');
    expect(stderr + out).not.toContain(key);
    expect(stderr).toContain(`"Authorization: Bearer $(cat ${file})" ${first.url}/v1/models`);
    const holding = filesBelow(data).filter((name) =>
      readFileSync(join(data, name), 'latin1').includes(key),
    );
    expect(holding).toEqual(['first-key']);

    // The message of a start that was killed may not have been seen.
    const second = await startDaemon({ ...FIRST, data });
    expect(await second.logged(KEY_FILE_MESSAGE)).toMatchObject({ file, hint });
    const headers = { authorization: `Bearer ${key}` };
    const response = await second.request('/v1/account', { headers });
    expect(await response.json()).toMatchObject({ name: 'owner', plan: 'paid' });
    await second.stop();
    rmSync(file);
    const another = await command(['keys', 'create', '--account', 'owner', '--data', data]);
    expect(another.out).toMatch(/^sk-oriel-\w{43}\n$/);
    const third = await startDaemon({ ...FIRST, data });
    expect((await third.stop()).stderr).toBe('');
  });

  it.skipIf(!HAS_TERMINAL)('shows the key on a terminal and keeps no copy', async () => {
    const data = temporaryFolder();
    const args = `serve --port 0 --log-format json --data ${data}`;
    const { child, ended } = startInTerminal(`exec "$NODE" "$BINARY" ${args}`, FIRST);
    let shown = '';
    for await (const chunk of child.stdout!) {
      shown += String(chunk);
      if (shown.includes('/v1/models')) break;
    }
    const key = /^API key, shown this once: (sk-oriel-\w{43})\r$/m.exec(shown)![1]!;
    while (existsSync(join(data, 'first-key'))) await delay(10);
    const { out } = await command(['keys', 'revoke', key, '--json', '--data', data]);
    expect(JSON.parse(out)).toMatchObject({ name: 'first', status: 'revoked' });
    for (const file of filesBelow(data)) {
      expect([file, readFileSync(join(data, file), 'latin1').includes(key)]).toEqual([file, false]);
    }
    child.kill();
    await ended;
  });

  it('makes no key if the start fails', async () => {
    const data = temporaryFolder();
    const port = new URL(daemon().url).port;
    const args = ['serve', '--port', port, '--data', data];
    const { status, stderr } = await oriel(args, FIRST);
    expect(status).toBe(1);
    expect(stderr).toContain('another program listens there');
    const second = await startDaemon({ ...FIRST, data });
    await second.logged(KEY_FILE_MESSAGE);
    const headers = { authorization: `Bearer ${keyIn(data)}` };
    expect((await second.request('/v1/account', { headers })).status).toBe(200);
  });
});

it('commands open the store of a killed daemon at once, which did not log its bootstrap key', async () => {
  const data = temporaryFolder();
  const { stop, log } = await startDaemon({ data });
  const run = (...args: string[]) => command([...args, '--data', data]);
  expect((await run('accounts', 'grant', 'owner', '1')).status).toBe(0);
  const { stderr } = await stop('SIGKILL');
  expect(stderr + JSON.stringify(log)).not.toContain(OWNER_KEY);
  const { status, out } = await run('accounts', 'show', 'owner', '--json');
  expect(status).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    credits: { granted: 1001 },
    keys: [{ account: 'owner', name: 'bootstrap' }],
  });
});

it('a daemon starts while commands use its store in turn', async () => {
  const data = temporaryFolder();
  expect((await command(['accounts', 'create', 'ci', '--data', data])).status).toBe(0);
  const grants = Array.from({ length: 6 }, () =>
    oriel(['accounts', 'grant', 'ci', '1', '--data', data]),
  );
  const { stop } = await startDaemon({ data });
  const ends = await Promise.all(grants);
  expect(ends.filter(({ status }) => status !== 0)).toEqual([]);
  await stop();
  const { out } = await command(['accounts', 'show', 'ci', '--json', '--data', data]);
  expect(JSON.parse(out)).toMatchObject({ credits: { granted: 6 } });
});
