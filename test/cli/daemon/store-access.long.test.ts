import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import pino from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  readAdminEndpoint,
  writeAdminEndpoint,
} from '../../../src/administration/admin-endpoint.ts';
import { startAdmin } from '../../../src/http/admin.ts';
import { openStore } from '../../../src/store/drivers/open.ts';
import { UNAUDITED } from '../../administration/unaudited.ts';
import { listening } from '../../fixtures/server.ts';
import { oriel, ROOT, type Run, startProgram, temporaryFolder, words } from '../../oriel.ts';
import { type Command, residentCommand } from '../../resident.ts';

const resident = residentCommand();
let data: string;

beforeEach(async () => {
  data = temporaryFolder();
  expect(await resident(words`accounts create ci --data ${data}`)).toMatchObject({
    status: 0,
    stderr: expect.stringContaining(`made a new data folder: ${data}`),
  });
});

const hold = () => openStore({ directory: join(data, 'store') });
const grantBy = (command: Command) => command(words`accounts grant ci 1 --data ${data}`);
const grant = () => grantBy(oriel);

async function granted(): Promise<number> {
  const { out } = await resident(words`accounts show ci --json --data ${data}`);
  return (JSON.parse(out) as { credits: { granted: number } }).credits.granted;
}

/** Starts another program at the address of an admin endpoint. */
async function listenAtEndpoint(listener: RequestListener): Promise<void> {
  const url = await listening(createServer(listener));
  writeAdminEndpoint(data, { url, token: 'of-a-daemon-long-dead', pid: 1 });
}

const DONE = { status: 0, stderr: 'account ci has 1 credits to spend\n' };

describe('the admin endpoint of a daemon that has died', () => {
  it('is not requested where the store is not locked', async () => {
    let heard = 0;
    await listenAtEndpoint((_, response) => {
      heard += 1;
      response.end();
    });
    expect(await grant()).toMatchObject(DONE);
    expect(heard).toBe(0);
  });

  it.each<[string, RequestListener]>([
    ['knows no token', (_, response) => response.writeHead(401).end('{"error":{"type":"x"}}')],
    ['answers pages', (_, response) => response.writeHead(404).end('<html>')],
    ['answers JSON', (_, response) => response.end('[]')],
    ['answers null', (_, response) => response.end('null')],
    ['answers nothing', (_, response) => response.writeHead(204).end()],
    ['answers text for an error', (_, response) => response.writeHead(400).end('{"error":"no"}')],
  ])('where another program listens that %s is ignored', async (_, answer) => {
    const store = await hold();
    let first = true;
    await listenAtEndpoint(async (request, response) => {
      // By now the command has seen that the store is taken.
      if (first) await store.close();
      first = false;
      answer(request, response);
    });
    expect(await grantBy(resident)).toMatchObject(DONE);
    expect(await granted()).toBe(1);
  });

  it.each([
    '',
    '{',
    'null',
    '{}',
    '{"url":"https://oriel.example","token":"t","pid":1}',
    '{"url":"http://127.0.0.1:1@oriel.example","token":"t","pid":1}',
    '{"url":"http://127.0.0.1:80"}',
  ])('with the content %j is ignored', (text) => {
    writeFileSync(join(data, 'admin.json'), text);
    expect(readAdminEndpoint(data)).toBeUndefined();
  });
});

describe('a command waits for the lock', () => {
  it('of a daemon that has not yet written its endpoint', async () => {
    const store = await hold();
    let admin: Awaited<ReturnType<typeof startAdmin>> | undefined;
    await listenAtEndpoint(async (_, response) => {
      admin ??= await startAdmin({
        place: 'lowdb',
        ...UNAUDITED,
        store,
        directory: data,
        log: pino({ enabled: false }),
        models: () => [],
      });
      response.writeHead(401).end('{"error":{"type":"auth_error"}}');
    });
    expect(await grant()).toMatchObject(DONE);
    expect(admin).toBeDefined();
    expect(await store.findAccount('ci')).toMatchObject({ granted: 1_000_000 });
    await admin!.close();
    await store.close();
  });

  it('up to a timeout, and names the process that holds it', async () => {
    const store = await hold();
    const { status, out, stderr } = await grant();
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(stderr).toContain(`process ${process.pid} is using this store`);
    await store.close();
    expect(await granted()).toBe(0);
  });
});

it('a store without permission is reported as such, and not as missing', async () => {
  chmodSync(data, 0o700);
  const others = await oriel(words`accounts list --data ${data}`, { unprivileged: true });
  expect(others).toMatchObject({ status: 1, out: '' });
  expect(others.stderr).toMatch(/^oriel: .*permission denied/i);
  const file = join(ROOT, 'package.json');
  expect(await oriel(['accounts', 'list', '--data', file])).toMatchObject({
    status: 1,
    out: '',
    stderr: `oriel: ${file}: there is no store of Oriel\n`,
  });
});

it('a daemon that closes the connection during a request fails the command with an unknown outcome', async () => {
  const store = await hold();
  await listenAtEndpoint((request) => request.socket.destroy());
  const { status, stderr } = await grant();
  expect(status).toBe(1);
  expect(stderr).toBe(
    'oriel: the daemon (process 1) closed the connection during "accounts grant", which may have been done; check with oriel accounts list\n',
  );
  await store.close();
});

/** A process with the store's lock and an admin endpoint, as a daemon has. */
const DAEMON = `
  const [root, data] = process.argv.slice(1);
  const load = (path) => import(new URL('test/.modules/src/' + path, 'file://' + root).href);
  const { openStore } = await load('store/drivers/open.js');
  const { startAdmin } = await load('http/admin.js');
  const store = await openStore({ directory: data + '/store' });
  const { default: pino } = await import(new URL('node_modules/pino/pino.js', 'file://' + root));
  const { ownActor } = await load('administration/actor.js');
  const { openAudit } = await load('store/audit/log.js');
  const audit = await openAudit(data, ownActor(), {});
  const admin = await startAdmin({ place: 'lowdb', store, audit, directory: data, log: pino({ enabled: false }), models: () => [] });
  process.once('SIGTERM', async () => {
    await admin.close();
    await audit.close();
    await store.close();
  });
  console.log('ready');
`;

function startHolder() {
  const args = ['--input-type=module', '-e', DAEMON, ROOT, data];
  const running = startProgram(process.execPath, args);
  onTestFinished(async () => {
    running.child.kill('SIGKILL');
    await running.ended;
  });
  return running;
}

describe('a daemon in another process', () => {
  it('that was killed does not block commands', async () => {
    const { child, ended } = startHolder();
    await once(child.stdout!, 'data');
    expect(await grant()).toMatchObject(DONE);
    child.kill('SIGKILL');
    await ended;
    expect(existsSync(join(data, 'admin.json'))).toBe(true);
    expect(await grant()).toMatchObject({ status: 0 });
    expect(await granted()).toBe(2);
  });

  it('may start and stop while commands run, and each command is executed once', async () => {
    const grants = (count: number) => Array.from({ length: count }, () => grant());
    const runs: Promise<Run>[] = grants(3);
    for (let round = 0; round < 2; round += 1) {
      const { child, ended } = startHolder();
      await Promise.race([once(child.stdout!, 'data'), ended]);
      runs.push(...grants(2));
      await runs.at(-2);
      child.kill('SIGTERM');
      await ended;
    }
    const ends = await Promise.all(runs);
    const unsure = ends.filter(({ stderr }) => stderr.includes('which may have been done'));
    const done = ends.filter(({ status }) => status === 0);
    expect(ends.filter((end) => !done.includes(end) && !unsure.includes(end))).toEqual([]);
    const sum = await granted();
    expect(sum).toBeGreaterThanOrEqual(done.length);
    expect(sum).toBeLessThanOrEqual(done.length + unsure.length);
    const { status, out } = await oriel(words`audit --data ${data} --json --act accounts`);
    const { acts, faults } = JSON.parse(out) as { acts: unknown[]; faults: string[] };
    expect({ status, faults }).toEqual({ status: 0, faults: [] });
    expect(acts.length).toBeGreaterThanOrEqual(sum);
  });
});
