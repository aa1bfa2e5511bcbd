import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { codedFailure, type Failure } from '../failure.ts';
import { valueOr } from '../flow.ts';
import { lockDescriptor } from '../libc.ts';
import { isAlive } from '../temporary.ts';
import { type Files, missingAs, remove, writeSynced } from './files.ts';

const FLAGS = constants.O_RDWR | constants.O_CREAT;

/**
 * Locks a folder for this process. The kernel locks open descriptors of the folder and of its file
 * `lock`, and releases them when the process ends, in any pid namespace. The file names the process for
 * messages and is never removed: a lock on a removed file would exclude no process.
 *
 * @param onFallback called if the system or the file system has no kernel locks. Then the pid in the
 *   file decides, which excludes only processes of this host and pid namespace
 * @throws Failure service_error, 503 `store_locked`, while another process has the lock
 */
export async function lockFolder(
  files: Files,
  folder: string,
  onFallback: () => void,
): Promise<Lock> {
  const path = join(folder, 'lock');
  const held: FileHandle[] = [];
  const close = async () => {
    for (const handle of held.splice(0)) await handle.close();
  };
  try {
    // The folder is locked too, so that removing the file does not let another process in. The file is
    // locked because NFS rejects a lock on a folder.
    const results: string[] = [];
    for (const [target, flags] of [[folder, constants.O_RDONLY] as const, [path, FLAGS] as const]) {
      const handle = await files.open(target, flags, 0o600);
      held.push(handle);
      const result = lockDescriptor(handle.fd);
      if (result === 'taken') throw storeLocked(path, await ownerIn(files, path));
      results.push(result);
    }
    if (!results.includes('locked')) {
      await close();
      onFallback();
      return await lockByPid(files, path);
    }
    const owner = await ownerIn(files, path);
    // The owner may be a process without kernel locks, such as an older version of this program.
    if (owner && !owner.kernel && (await isOwnerAlive(files, owner)))
      throw storeLocked(path, owner);
    const file = held[1]!;
    await file.truncate(0);
    await file.write(JSON.stringify({ ...(await currentOwner(files)), kernel: true }), 0);
    return {
      release: async () => {
        await file.truncate(0).catch(() => {});
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The owner in the lock file; null if the file is missing or names none. */
async function ownerIn(files: Files, path: string) {
  const text = await files.readFile(path).catch(() => null);
  return text && parseOwner(text.toString());
}

/** Process that uses a store, identified so that a later process with the same pid differs. */
interface Owner {
  readonly pid: number;
  /** Boot identifier of the running system; null if it has none. */
  readonly boot: string | null;
  /** Start time of the process in clock ticks since boot; null if it is not known. */
  readonly started: string | null;
  /** Random identifier of this lock. */
  readonly token: string;
  /** Name of the host or container, for messages. */
  readonly host?: string;
  /** Time at which the lock was acquired, ISO 8601; for messages. */
  readonly since?: string;
  /** Whether the process also has a kernel lock. Then pid, boot and start time do not decide. */
  readonly kernel?: boolean;
}

/** An acquired lock. */
export interface Lock {
  release(): Promise<void>;
}

/** Owner in the empty lock file of an owner that released it: no system has this boot identifier. */
const RELEASED: Owner = {
  pid: 0,
  boot: 'released',
  started: null,
  token: '00000000-0000-0000-0000-000000000000',
};

/**
 * Locks a path by a file that names this process, for systems and file systems without kernel locks. The
 * lock of a dead process is taken over. Processes of other hosts or pid namespaces are not excluded,
 * since it cannot be checked whether they are alive.
 *
 * @throws Failure service_error, 503 `store_locked`, if a live process has the lock
 */
export async function lockByPid(files: Files, path: string): Promise<Lock> {
  const owner = await currentOwner(files);
  await acquire(files, path, owner);
  return {
    release: async () => {
      if ((await read(files, path))?.token === owner.token) await remove(files, path);
    },
  };
}

async function acquire(files: Files, path: string, owner: Owner): Promise<void> {
  const beside = `${path}.${owner.token}`;
  // Synced, so that after a power cut the name does not lead to an empty file without an owner.
  await writeSynced(files, beside, JSON.stringify(owner));
  try {
    while (!(await tryLink(files, beside, path))) {
      const other = await read(files, path);
      if (other === null) continue;
      if (await isOwnerAlive(files, other)) throw storeLocked(path, other);
      // A lock named after the token of the dead owner decides which process may replace its lock. The
      // process that acquires it reads again: another may have replaced the lock before.
      const right = `${path}.${other.token}.taken`;
      await acquire(files, right, owner);
      try {
        if ((await read(files, path))?.token !== other.token) continue;
        await files.rename(beside, path);
        return;
      } finally {
        await remove(files, right);
      }
    }
  } finally {
    await remove(files, beside);
  }
}

/** @param owner null if the lock file does not name its owner yet */
function storeLocked(path: string, owner: Owner | null): Failure {
  const process = owner ? `process ${owner.pid}` : 'another process';
  const details = owner?.host ? ` (host ${owner.host}, since ${owner.since})` : '';
  return codedFailure('store_locked', `${path}: ${process} is using this store${details}`);
}

/** Creates a hard link. Returns false if the name exists. */
async function tryLink(files: Files, from: string, to: string): Promise<boolean> {
  try {
    await files.link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** The owner of a lock; null if the lock no longer exists. */
async function read(files: Files, path: string): Promise<Owner | null> {
  const text = (await files.readFile(path).catch(missingAs(null)))?.toString();
  if (text === undefined) return null;
  if (text === '') return RELEASED;
  const owner = parseOwner(text);
  if (owner) return owner;
  throw codedFailure(
    'store_locked',
    `${path}: this is not a lock file of Oriel; remove it if no Oriel process is running`,
  );
}

/** The owner in the text of a lock file; null if it names none. */
function parseOwner(text: string): Owner | null {
  const owner = valueOr(() => JSON.parse(text) as Owner | null, null);
  const isOwner = Number.isSafeInteger(owner?.pid) && /^[0-9a-f-]{36}$/.test(owner!.token);
  return isOwner ? owner : null;
}

/** This process as an owner. */
async function currentOwner(files: Files): Promise<Owner> {
  const { pid } = process;
  const [boot, started] = [await bootId(files), await processStart(files, pid)];
  return {
    pid,
    boot,
    started: started || null,
    token: randomUUID(),
    host: hostname(),
    since: new Date().toISOString(),
  };
}

async function isOwnerAlive(files: Files, { pid, boot, started }: Owner): Promise<boolean> {
  if (boot !== (await bootId(files))) return false;
  const now = await processStart(files, pid);
  if (now !== undefined && started !== null) return now === started;
  return isAlive(pid);
}

async function bootId(files: Files): Promise<string | null> {
  const text = await files.readFile('/proc/sys/kernel/random/boot_id').catch(() => null);
  return text?.toString().trim() ?? null;
}

/** Start time of a process; null if there is none, or only a zombie; undefined on systems without /proc. */
async function processStart(files: Files, pid: number): Promise<string | null | undefined> {
  if (process.platform !== 'linux') return undefined;
  const bytes = await files.readFile(join('/proc', String(pid), 'stat')).catch(() => null);
  if (bytes === null) return null;
  const stat = bytes.toString();
  // The program's name is in parentheses and may contain anything; the state follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
}
