import { spawn } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { describeWith, type Engine, engine } from './engines/engine.ts';
import { oriel, ROOT, startProgram } from './oriel.ts';

/** Containers of another user would need a range of user ids. */
const ROOT_USER: Engine = { packageName: 'of the user root', program: null };
const ENGINES = ['podman', 'runc'].map((name) => engine(name, name));
const FILES = join(ROOT, 'config', 'container');

/** Certificates that this machine trusts, which the registry of npm may need. */
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';

/** Where the container's build finds npm's cache of this machine. */
const CACHE = '/npm-cache';

/** Programs of this machine that npm, the Containerfile and the tests call. */
const PROGRAMS = 'sh env uname mkdir cp mv rm ln chmod chown cat id touch stat tar gzip'.split(' ');

let folder: string;

async function run(program: string, ...args: string[]) {
  return startProgram(program, args, { cwd: ROOT }).ended;
}

/** Podman with a storage of its own. */
function podman(...args: string[]) {
  const [root, runroot, tmp] = ['storage', 'run', 'tmp'].map((name) => join(folder, name));
  const own = ['--root', root!, '--runroot', runroot!, '--tmpdir', tmp!, '--runtime', 'runc'];
  return run('podman', ...own, '--cgroup-manager', 'cgroupfs', ...args);
}

async function succeed(running: ReturnType<typeof run>): Promise<string> {
  const { status, out, stderr } = await running;
  expect(status, `${out}\n${stderr}`.slice(-4000)).toBe(0);
  return out.trim();
}

async function build(context: string, file: string, ...args: string[]): Promise<void> {
  const how = ['--isolation', 'chroot', '--format', 'docker', '--layers=false'];
  await succeed(podman('build', ...how, '--file', file, ...args, context));
}

/** Options of a container as config/container/README.md has them, without a network to the outside. */
const OPTIONS = [
  ...['--network', 'none', '--read-only', '--tmpfs', '/tmp', '--cap-drop', 'all'],
  ...['--memory', '512m', '--volume', 'oriel:/data', '--stop-timeout', '45'],
  // The limits of a machine in which podman itself may not raise them, and no systemd that calls the check.
  ...[
    '--ulimit',
    'nofile=1024:4096',
    '--ulimit',
    'nproc=4096:4096',
    '--health-interval',
    'disable',
  ],
];

/** Starts a container, and waits for a line of its log. */
async function startContainer(name: string, ...command: string[]): Promise<void> {
  await succeed(podman('run', '--detach', '--name', name, ...OPTIONS, 'oriel', ...command));
  await logLine(name, '"msg":"ready"');
}

async function logLine(name: string, text: string): Promise<void> {
  const [root, runroot, tmp] = ['storage', 'run', 'tmp'].map((one) => join(folder, one));
  const own = ['--root', root!, '--runroot', runroot!, '--tmpdir', tmp!, '--runtime', 'runc'];
  const log = spawn('podman', [...own, 'logs', '--follow', name]);
  let read = '';
  for await (const chunk of log.stdout) {
    read += String(chunk);
    if (read.includes(text)) break;
  }
  log.kill();
  expect(read).toContain(text);
}

/** Asks the daemon of a container, as its owner. */
function ask(container: string, path: string): Promise<string> {
  const script = `
    const authorization = 'Bearer ' + require('fs').readFileSync('/data/first-key', 'utf8').trim();
    fetch('http://127.0.0.1:8787${path}', { headers: { authorization } })
      .then((answer) => answer.text()).then((text) => console.log(text));`;
  return succeed(podman('exec', container, 'node', '-e', script));
}

/**
 * Npm for the build, in which the packages of this folder are mounted: another test installs a fresh clone. The packages
 * of the image are installed by the real one.
 */
const NPM = `#!/bin/sh
if [ "$1" = ci ] && [ "$2" != --omit=dev ]; then exit; fi
exec node /usr/local/lib/npm/bin/npm-cli.js "$@"
`;

/** A small Debian of this machine's own files: programs with their libraries, Node, npm and certificates. */
async function writeBase(base: string): Promise<void> {
  for (const name of ['tmp', 'root', 'etc/ssl/certs', 'usr/local/bin', 'usr/local/lib']) {
    mkdirSync(join(base, name), { recursive: true });
  }
  const found = await succeed(run('which', ...PROGRAMS));
  const programs = found.split('\n').map((path) => join('/bin', basename(path)));
  const linked = await succeed(run('ldd', process.execPath, ...programs));
  const libraries = Array.from(linked.matchAll(/(\/\S+) \(0x/g), ([, path]) => path!);
  const files = new Set([...programs, ...libraries, '/usr/bin/env', CERTIFICATES]);
  await succeed(run('cp', '--dereference', '--parents', ...files, base));
  copyFileSync(process.execPath, join(base, 'usr/local/bin/node'));
  const modules = await succeed(run('npm', 'root', '--global'));
  cpSync(join(modules, 'npm'), join(base, 'usr/local/lib/npm'), { recursive: true });
  writeFileSync(join(base, 'usr/local/bin/npm'), NPM, { mode: 0o755 });
}

describeWith(process.getuid?.() === 0 ? ENGINES : [ROOT_USER], 'the container', () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'oriel-container-'));
    const base = join(folder, 'base');
    await writeBase(base);
    const file = join(folder, 'Containerfile');
    const variables = `NODE_EXTRA_CA_CERTS=${CERTIFICATES} npm_config_cache=${CACHE}`;
    writeFileSync(file, `FROM scratch\nCOPY base /\nENV ${variables}\n`);
    await build(folder, file, '--tag', 'base');
    const own = join(FILES, 'Containerfile');
    const cache = await succeed(run('npm', 'config', 'get', 'cache'));
    const volumes = [`${cache}:${CACHE}`, `${ROOT}/node_modules:/build/node_modules:ro`];
    const options = volumes.flatMap((volume) => ['--volume', volume]);
    options.push('--build-arg', 'BASE=localhost/base');
    await build(ROOT, own, ...options, '--tag', 'oriel');
  }, 600_000);
  afterAll(async () => {
    await podman('rm', '--all', '--force', '--time', '0');
    await podman('rmi', '--all', '--force');
    rmSync(folder, { recursive: true, force: true });
  });

  it('has a user, a volume, a health check and the signal to stop, in at most 200 MB beyond its base', async () => {
    const images = JSON.parse(await succeed(podman('inspect', 'oriel', 'base')));
    const [{ Config: config, Healthcheck: check, Size: size }, { Size: base }] = images;
    expect(config).toMatchObject({
      User: '10001:10001',
      StopSignal: 'SIGTERM',
      Volumes: { '/data': {} },
      Entrypoint: ['oriel'],
      ExposedPorts: { '8787/tcp': {} },
    });
    expect(check.Test[0]).toBe('CMD');
    expect(size - base).toBeLessThan(200e6);
  });

  it('runs as a user on a read-only root, knows its memory, and locks its volume until it has drained', async () => {
    await startContainer('first');
    expect(await succeed(podman('exec', 'first', 'id'))).toContain(
      'uid=10001(10001) gid=10001(10001)',
    );
    expect((await podman('exec', 'first', 'touch', '/opt/oriel/file')).stderr).toContain(
      'Read-only',
    );
    expect(await succeed(podman('exec', 'first', 'stat', '-c', '%a %u', '/data/first-key'))).toBe(
      '600 10001',
    );
    await succeed(podman('healthcheck', 'run', 'first'));
    const { data } = JSON.parse(await ask('first', '/v1/models'));
    expect(data.length).toBeGreaterThan(0);
    const { memory } = JSON.parse(await ask('first', '/v1/admin/status'));
    expect(memory).toMatchObject({ limit_bytes: 512 * 1024 * 1024 });
    expect(await succeed(podman('exec', 'first', 'oriel', 'accounts', 'list'))).toContain('owner');

    const second = await podman('run', '--rm', ...OPTIONS, 'oriel');
    expect(second.status).not.toBe(0);
    expect(second.stderr).toContain('is using this store');

    await succeed(podman('kill', '--signal', 'HUP', 'first'));
    await logLine('first', 'the configuration was read again');
    await succeed(podman('stop', 'first'));
    await logLine('first', '"msg":"stopped"');
    expect(await succeed(podman('inspect', 'first', '--format', '{{.State.ExitCode}}'))).toBe('0');

    await startContainer('next');
    expect(await succeed(podman('healthcheck', 'run', 'next'))).toBe('');
    await succeed(podman('kill', '--signal', 'KILL', 'next'));
    expect((await podman('healthcheck', 'run', 'next')).status).not.toBe(0);
    await startContainer('after-kill');
  });
});

describe('the compose files', () => {
  const compose = (name: string) => parse(readFileSync(join(FILES, name), 'utf8'), { merge: true });

  it.each(['compose.yaml', 'compose.nodes.yaml'])(
    '%s confines each daemon as the image allows',
    (name) => {
      const services = Object.values<Record<string, unknown>>(compose(name).services);
      const daemons = services.filter(({ image }) => image === 'oriel');
      expect(daemons.length).toBe(name === 'compose.yaml' ? 1 : 3);
      for (const daemon of daemons) {
        expect(daemon).toMatchObject({
          build: { context: '../..', dockerfile: 'config/container/Containerfile' },
          init: true,
          read_only: true,
          tmpfs: ['/tmp'],
          cap_drop: ['ALL'],
          stop_grace_period: '45s',
        });
        expect(daemon['volumes']).toEqual(
          expect.arrayContaining([expect.stringMatching(/^[\w-]+:\/data$/)]),
        );
      }
    },
  );

  it('compose.nodes.yaml sets every variable that the configuration of its nodes names', async () => {
    const { environment } = compose('compose.nodes.yaml').services['node-1'];
    const env = Object.fromEntries(
      Object.entries<string>(environment).map(([name, value]) => [
        name,
        value.replace(/\$\{\w+:\?\}/g, 'a-secret-of-the-test'),
      ]),
    );
    const checked = await oriel(['config', 'check', join(FILES, 'nodes.yaml')], { env });
    expect(checked).toMatchObject({ status: 0, stderr: '' });
  });
});
