/**
 * Makes a fixture of the store as one version of Oriel writes it:
 *
 *     node test/store/upgrades/make-fixture.mjs CHECKOUT test/store/upgrades/NAME.tar.br
 *
 * CHECKOUT is a built checkout of that version. A daemon of it answers text, makes an image, and is killed
 * while it has tasks to do. The archive holds its data folder and `fixture.json` with what must be there again.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';

const [checkout, archive] = process.argv.slice(2);
const binary = resolve(checkout, 'dist/bin/oriel.cjs');
const folder = mkdtempSync(join(tmpdir(), 'oriel-fixture-'));
const data = join(folder, 'data');
mkdirSync(data);
const env = { ...process.env, ORIEL_BOOTSTRAP_KEY: 'oriel_test_owner_key_000000000000' };

const oriel = (...args) => {
  const flags = args.includes('--data') ? ['--json'] : ['--data', data, '--json'];
  return JSON.parse(
    execFileSync(process.execPath, [binary, ...args, ...flags], { env, cwd: folder }),
  );
};

const free = createServer().listen(0, '127.0.0.1');
await once(free, 'listening');
const { port } = free.address();
free.close();

oriel('accounts', 'create', 'builds', '--plan', 'paid', '--credits', '100');
const { key } = oriel('keys', 'create', '--account', 'builds', '--name', 'nightly');
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

async function ask(path, body) {
  const init = { method: 'POST', headers, body: JSON.stringify(body) };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, init);
  const value = await answer.json();
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${JSON.stringify(value)}`);
  return value;
}

/** Runs a daemon while work is done, and ends it by a signal. */
async function serve(signal, work) {
  const flags = [
    '--data',
    data,
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--log-format',
    'json',
  ];
  const stdio = ['ignore', 'pipe', 'inherit'];
  const daemon = spawn(process.execPath, [binary, 'serve', ...flags], { env, cwd: folder, stdio });
  for await (const chunk of daemon.stdout.iterator({ destroyOnReturn: false })) {
    if (/listening|ready/i.test(String(chunk))) break;
  }
  daemon.stdout.resume();
  const result = await work();
  daemon.kill(signal);
  await once(daemon, 'exit');
  return result;
}

const messages = [{ role: 'user', content: 'Say what a lighthouse is for.' }];
const image = { prompt: 'a lighthouse at dusk' };
const small = { ...image, model: 'sandbox-image-any', size: '64x64' };
const large = { ...image, model: 'sandbox-image', size: '3840x2160', n: 3 };
/** Sixteen MiB in the journal, after which it moves to shards and an archive. The archive repeats and packs well. */
const long = { ...small, prompt: 'a lighthouse at dusk '.repeat(1500) };
const finished = await serve('SIGTERM', async () => {
  await ask('/v1/chat/completions', { model: 'sandbox-chat', messages });
  for (let batch = 0; batch < 35; batch += 1) {
    const bodies = Array.from({ length: 16 }, () => long);
    await Promise.all(bodies.map((body) => ask('/v1/images/generations/sync', body)));
  }
  return ask('/v1/images/generations/sync', small);
});
// The shards hold the first daemon's records now, and the journal those of the second.
const open = await serve('SIGKILL', async () => {
  await ask('/v1/chat/completions', { model: 'sandbox-chat', messages });
  return [await ask('/v1/images/generations', large)];
});
const asset = new URL(finished.data[0].url).pathname;
const tasks = open.map(({ task_id }) => task_id);
// The command opens the store, which changes it: it gets a copy.
cpSync(data, join(folder, 'copy'), { recursive: true });
const { accounts } = oriel('accounts', 'list', '--data', join(folder, 'copy'));
const { reserved, spent } = accounts.find(({ name }) => name === 'builds').credits;
writeFileSync(join(folder, 'fixture.json'), JSON.stringify({ key, asset, tasks, reserved, spent }));
const members = ['--exclude=lock', '--exclude=*.sock', '-C', folder, 'data', 'fixture.json'];
const tar = execFileSync('tar', ['-c', ...members], { maxBuffer: 2 ** 27 });
const params = {
  [constants.BROTLI_PARAM_LGWIN]: 24,
  [constants.BROTLI_PARAM_SIZE_HINT]: tar.length,
};
writeFileSync(archive, brotliCompressSync(tar, { params }));
rmSync(folder, { recursive: true });
