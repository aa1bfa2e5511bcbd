/** Ceph's RADOS gateway, a strict S3 service, with one monitor and one OSD that keeps objects in memory. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../bench/free-port.ts';
import { onProcessEnd } from '../oriel.ts';
import { engine, engineFolder } from './engine.ts';

export const CEPH_CREDENTIALS = { accessKeyId: 'oriel', secretAccessKey: 'oriel-secret' } as const;

export interface Ceph {
  /** `http://127.0.0.1:8000` */
  readonly endpoint: string;
  /** The gateway's process, for signals. */
  readonly gateway: ChildProcess;
  stop(): Promise<void>;
}

/** What tests on Ceph need. */
export const CEPH = [
  engine('radosgw', 'radosgw'),
  engine('ceph-mon', 'ceph-mon'),
  engine('ceph-osd', 'ceph-osd'),
  engine('ceph-common', 'ceph'),
];

function configurationOf(folder: string, fsid: string, monitor: number, gateway: number): string {
  return `
[global]
fsid = ${fsid}
mon host = v2:127.0.0.1:${monitor}
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 2147483648
ms mon client mode = crc
ms client mode = crc
ms cluster mode = crc
ms service mode = crc
ms bind ipv6 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
run dir = ${folder}
log file = ${folder}/$name.log
admin socket = ${folder}/$name.$pid.asok
pid file =
keyring = /dev/null
[mon.a]
mon data = ${folder}/mon
[osd.0]
osd data = ${folder}/osd
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:${gateway}
rgw data = ${folder}/rgw
`;
}

/** Starts Ceph in a temporary folder on free ports, which takes about 13 s. */
export async function startCeph(): Promise<Ceph> {
  const folder = engineFolder('ceph');
  const conf = join(folder, 'ceph.conf');
  const children: ChildProcess[] = [];
  const run = (program: string, ...args: readonly string[]) => {
    const options = { cwd: folder, encoding: 'utf8', timeout: 120_000 } as const;
    const { status, stderr } = spawnSync(program, [...args], options);
    if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${status}\n${stderr}`);
  };
  const start = (name: string, program: string, ...args: readonly string[]) => {
    const out = openSync(join(folder, `${name}.out`), 'w');
    const child = spawn(program, ['-c', conf, ...args, '-f'], {
      cwd: folder,
      stdio: ['ignore', out, out],
    });
    children.push(child);
    child.once(
      'exit',
      onProcessEnd(() => child.kill('SIGKILL')),
    );
    return child;
  };
  const stop = async () => {
    const ended = children.map((child) =>
      child.exitCode === null && child.signalCode === null
        ? new Promise((resolve) => child.once('exit', resolve))
        : null,
    );
    // The gateway may have been stopped by a signal. Nothing of its data is kept.
    for (const child of children.reverse()) child.kill('SIGKILL');
    await Promise.all(ended);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const [monitor, port] = [await freePort(), await freePort()];
    const fsid = randomUUID();
    const osd = randomUUID();
    for (const name of ['mon', 'osd', 'rgw']) mkdirSync(join(folder, name));
    writeFileSync(conf, configurationOf(folder, fsid, monitor, port));
    const map = join(folder, 'monmap');
    run('monmaptool', '--create', '--addv', 'a', `[v2:127.0.0.1:${monitor}]`, '--fsid', fsid, map);
    run('ceph-mon', '-c', conf, '--mkfs', '-i', 'a', '--monmap', map);
    start('mon', 'ceph-mon', '-i', 'a');
    run('ceph', '-c', conf, 'osd', 'new', osd, '0');
    run('ceph-osd', '-c', conf, '-i', '0', '--mkfs', '--osd-uuid', osd);
    start('osd', 'ceph-osd', '-i', '0');
    // Without the option it changes to a user who may not read the folder.
    const asRoot = process.getuid?.() === 0 ? ['--setuser', 'root', '--setgroup', 'root'] : [];
    const gateway = start('rgw', 'radosgw', '-n', 'client.rgw', ...asRoot);
    const { accessKeyId, secretAccessKey } = CEPH_CREDENTIALS;
    const keys = ['--access-key', accessKeyId, '--secret-key', secretAccessKey];
    const user = ['user', 'create', '--uid=oriel', '--display-name=oriel', ...keys];
    run('radosgw-admin', '-c', conf, '-n', 'client.rgw', ...user);
    const endpoint = `http://127.0.0.1:${port}`;
    for (let attempt = 0; ; attempt += 1) {
      const answers = await fetch(endpoint).then(
        ({ status }) => status === 200,
        () => false,
      );
      if (answers) break;
      const log = () => readFileSync(join(folder, 'rgw.out'), 'utf8');
      if (attempt === 600) throw new Error(`the gateway does not answer:\n${log()}`);
      await delay(100);
    }
    return { endpoint, gateway, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
