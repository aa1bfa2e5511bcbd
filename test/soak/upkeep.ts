import { execFile } from 'node:child_process';
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ask } from '../torture/client.ts';
import { type Daemon, ORIEL } from '../torture/daemon.ts';
import { FAULTS, type FaultTargets } from '../torture/faults.ts';
import { reconcile } from '../torture/tenants/reconcile.ts';
import type { Tenant } from '../torture/tenants/tenant.ts';
import type { Violations } from '../torture/violations.ts';

const run = promisify(execFile);

export interface Upkeep {
  readonly daemon: Daemon;
  readonly targets: FaultTargets;
  readonly violations: Violations;
  /** Folders of backups and of the log. */
  readonly backups: string;
  readonly logs: string;
}

/** Runs a command of the built program. @returns its standard output, or null after a violation */
export async function oriel(
  { daemon, violations }: Pick<Upkeep, 'daemon' | 'violations'>,
  args: readonly string[],
): Promise<string | null> {
  try {
    const env = { PATH: process.env['PATH'], NO_COLOR: '1' };
    const options = { cwd: daemon.folder, env, maxBuffer: 2 ** 26 };
    return (await run(process.execPath, [ORIEL, ...args], options)).stdout;
  } catch (error) {
    violations.add(`\`oriel ${args[0]}\` succeeds`, String((error as Error).message));
    return null;
  }
}

/** What an operator does while the daemon serves: each gives a word for the picture, in the order of a turn. */
export const DUTIES: readonly ((upkeep: Upkeep) => Promise<string>)[] = [
  fault('upstream dead and back', 'provider restarted'),
  rotateLog,
  backUp,
  fault('SIGHUP with a changed configuration', 'provider keys changed'),
];

function fault(name: string, word: string) {
  return async ({ targets }: Upkeep) => {
    await FAULTS.find((each) => each.name === name)!.inject(targets);
    return word;
  };
}

async function backUp(upkeep: Upkeep): Promise<string> {
  const { daemon, backups } = upkeep;
  const config = join(daemon.folder, 'oriel.yaml');
  await oriel(upkeep, [
    ...['backup', backups, '--keep', '3'],
    ...['--data', daemon.data, '--config', config],
  ]);
  return 'backup';
}

/** Renames the log as logrotate does. The daemon must open a new one. */
async function rotateLog({ daemon, violations, logs }: Upkeep): Promise<string> {
  const file = join(logs, 'oriel.log');
  renameSync(file, join(logs, 'oriel.log.rotated'));
  daemon.signal('SIGHUP');
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (existsSync(file) && statSync(file).size > 0) return 'log rotated';
    await sleep(100);
  }
  violations.add('SIGHUP opens the log again', `${readdirSync(logs).join()} after 20 s`);
  return 'log lost';
}

/**
 * Compares the work of tenants with the daemon's state, then replaces their keys and secrets of callbacks.
 *
 * @returns tasks, uploads and callbacks that were compared
 */
export async function settle(
  { daemon, violations }: Upkeep,
  tenants: readonly Tenant[],
  received: Parameters<typeof reconcile>[1],
): Promise<number> {
  let compared = 0;
  for (const tenant of tenants) {
    compared += tenant.tasks.length + tenant.uploads.size;
    const { callbacks } = await reconcile(tenant, received);
    compared += callbacks;
    // Retention deletes them before the next comparison.
    tenant.tasks.length = 0;
    tenant.uploads.clear();
    const before = tenant.key;
    const { name } = tenant;
    const { key } = await daemon.administer('keys/create', { account: name, rpm: RPM });
    tenant.key = String(key);
    await daemon.administer('keys/revoke', { id: before });
    const { secret } = await daemon.administer('accounts/rotate-callback-secret', { name });
    tenant.secret = String(secret);
    const { status } = await ask(daemon.url, { path: '/v1/account', key: before });
    if (status !== 401) violations.add('a revoked key is refused', `${name}: ${status}`);
  }
  return compared;
}

/** Requests a minute of a key: none is refused for it. */
export const RPM = 1_000_000;
