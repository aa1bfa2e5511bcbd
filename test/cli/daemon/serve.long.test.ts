import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY, startDaemon } from '../../daemon.ts';
import { listening } from '../../fixtures/server.ts';
import {
  handOver,
  oriel,
  type Running,
  shell,
  start,
  startProgram,
  temporaryFolder,
  words,
} from '../../oriel.ts';
import { residentCommand } from '../../resident.ts';
import { account } from '../../text/account.ts';
import { newKey } from '../../text/gateway-daemon.ts';

/** For starts that end before the daemon has begun. */
const resident = residentCommand();

/** Resolves with what a process has said on standard error once that matches. */
async function said({ child, ended }: Running, pattern: RegExp): Promise<string> {
  let text = '';
  const matched = new Promise<string>((resolve) => {
    child.stderr!.on('data', (chunk) => {
      text += String(chunk);
      if (pattern.test(text)) resolve(text);
    });
  });
  const gone = ended.then(({ status }) => {
    throw new Error(`it ended with ${status} and said: ${text}`);
  });
  return Promise.race([matched, gone]);
}

/** Every file and folder below one, with its permissions. */
function modesBelow(folder: string): [string, string][] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]);
}

describe('the first start', () => {
  it('prints the address, the path of the key, and a curl line that works', async () => {
    const cwd = temporaryFolder();
    // On a busy machine too, it is to take what is pasted.
    writeFileSync(join(cwd, 'oriel.yaml'), 'overload: { eventLoopDelay: 1h }\n');
    const running = start(words`serve --port 0 --log-format json`, { cwd });
    const text = await said(running, /curl .*\n/);
    const screen = /^\nAddress: http\S+\nAPI key, in a file: \S+\nTry it: (curl .*)\n/.exec(text)!;
    const { code, out } = await startProgram('sh', ['-c', `${screen[1]} --silent --fail`]).ended;
    expect({ code, answer: JSON.parse(out) }).toMatchObject({
      code: 0,
      answer: { object: 'list' },
    });
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);

    rmSync(join(cwd, 'data', 'first-key'));
    const again = start(words`serve --port 0 --log-format json`, { cwd });
    await once(again.child.stdout!, 'data');
    again.child.kill('SIGTERM');
    expect((await again.ended).stderr).toBe('');
  });
});

describe('a daemon that cannot start exits with the reason', () => {
  it('where another program listens on the port', async () => {
    const { port } = new URL(await listening(createServer()));
    const { code, stderr } = await oriel(['serve', '--port', port, '--data', temporaryFolder()]);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `oriel: cannot listen on 127.0.0.1:${port}: another program listens there\n`,
    });
  });

  it('where the machine does not have the address', async () => {
    const args = ['serve', '--host', '192.0.2.1', '--port', '0', '--data', temporaryFolder()];
    expect(await oriel(args)).toMatchObject({
      code: 1,
      stderr: 'oriel: cannot listen on 192.0.2.1:0: this machine has no such address\n',
    });
  });

  it('where the data directory cannot be written', async () => {
    const folder = temporaryFolder();
    handOver(folder);
    mkdirSync(join(folder, 'data'), { mode: 0o500 });
    const args = ['serve', '--port', '0', '--data', join(folder, 'data', 'deep')];
    const { code, stderr } = await oriel(args, { cwd: folder, unprivileged: true });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^oriel: .*permission denied.*data/);
  });

  it('where a file of the store is of another user, but after commands of root', async () => {
    const data = temporaryFolder();
    handOver(data);
    const make = (name: string) =>
      oriel(words`accounts create ${name} --data ${data}`, { unprivileged: true });
    await make('ci');
    await oriel(words`providers add play --kind sandbox --data ${data}`);
    expect((await make('other')).code).toBe(0);
    chmodSync(join(data, 'store', 'store.json'), 0);
    expect((await make('last')).stderr).toMatch(/EACCES.*belong to the user that runs this/);
  });

  it.runIf(process.platform === 'linux')('where no data directory can be created', async () => {
    const line = 'timeout -s KILL 60 "$NODE" "$BINARY" serve --port 0 --data /proc/oriel';
    const { status, stderr } = await shell(line);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^oriel: .*mkdir '\/proc\/oriel'/);
  });

  it('where ORIEL_BOOTSTRAP_KEY is too short', async () => {
    const args = ['serve', '--port', '0', '--data', temporaryFolder()];
    const { code, stderr } = await resident(args, { env: { ORIEL_BOOTSTRAP_KEY: 'secret' } });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'oriel: ORIEL_BOOTSTRAP_KEY: expected 24 to 512 printable ASCII characters without spaces; make one with `openssl rand -hex 24`\n',
    });
  });

  it('unless --dev accepts it', async () => {
    const args = words`serve --dev --port 0 --data ${temporaryFolder()} --log-format json`;
    const running = start(args, { env: { ORIEL_BOOTSTRAP_KEY: 'secret' } });
    await once(running.child.stdout!, 'data');
    running.child.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });

  it('where the configuration is invalid', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'oriel.yaml'), 'server: { port: 99999 }\n');
    const { code, stderr } = await resident(['serve'], { cwd: folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/oriel\.yaml:1: server\.port: expected an integer from 0 to 65535/);
  });

  it.each([
    ['--port', 'http', '--port: expected an integer from 0 to 65535, received "http"'],
    ['--log-format', 'xml', '--log-format: expected one of auto, pretty, json, received "xml"'],
  ])('where %s is invalid', async (flag, value, message) => {
    const { code, stderr } = await resident(words`serve ${flag} ${value}`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: `oriel: ${message}\n` });
  });
});

it('has its data directory alone, in files that only their owner can read, and keeps it over kill -9', async () => {
  const daemon = await startDaemon({ data: join(temporaryFolder(), 'data'), cwd: '/' });
  for (const [name, mode] of modesBelow(daemon.data)) {
    expect(mode, name).toMatch(/^[67]00$/);
  }
  const { code, stderr } = await oriel(['serve', '--port', '0', '--data', daemon.data]);
  expect(code).toBe(1);
  const who = `oriel: ${daemon.data}/store/lock: process ${daemon.child.pid} is using this store (`;
  expect(stderr.slice(0, who.length)).toBe(who);
  const key = await newKey(daemon, 'kept');
  await daemon.stop('SIGKILL');
  const again = await startDaemon({ data: daemon.data });
  for (const [own, name] of [
    [OWNER_KEY, 'owner'],
    [key, 'kept'],
  ] as const) {
    expect(await account(again, own)).toMatchObject({ name });
  }
});
