import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../../../failure.ts';
import { type Files, isMissing, remove } from '../../files.ts';

/** The process that uses a store, told apart from a later one with the same pid. */
export interface Owner {
  readonly pid: number;
  /** Of this running system; null where it has none. */
  readonly boot: string | null;
  /** When the process started, in the system's own count; null where that is not known. */
  readonly started: string | null;
  /** Tells this lock from every other. */
  readonly token: string;
  /** Name of the host or container, for messages. */
  readonly host?: string;
  /** When the lock was acquired, ISO 8601; for messages. */
  readonly since?: string;
  /** Whether the process also reservations a kernel lock; then pid, boot and start do not decide. */
  readonly kernel?: boolean;
}

/** A lock that is held. */
export interface Lock {
  release(): Promise<void>;
}

/** The content of a lock file that its owner has released: no boot has this identifier. */
const RELEASED: Owner = {
  pid: 0,
  boot: 'released',
  started: null,
  token: '00000000-0000-0000-0000-000000000000',
};

/**
 * Locks a path for this process by a file that names it, on a system or file system without kernel
 * locks. The lock of a dead process is taken over. It does not exclude processes of other hosts or
 * pid namespaces, which cannot be checked for life.
 *
 * @throws Failure service_error, 503 `store_locked`, where a live process has it
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
  const handle = await files.open(beside, 'w', 0o600);
  try {
    await handle.writeFile(JSON.stringify(owner));
    // After a power cut the name must not lead to an empty file, which nobody could tell from another's.
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    while (!(await tryLink(files, beside, path))) {
      const other = await read(files, path);
      if (other === null) continue;
      if (await isAlive(files, other)) throw storeLocked(path, other);
      // The one who may replace this very lock is settled by a lock named after it. Whoever gets that
      // looks again: somebody may have replaced it before, and given up the right to.
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

/** @param owner null where the lock file does not name its owner yet */
export function storeLocked(path: string, owner: Owner | null): Failure {
  const process = owner ? `process ${owner.pid}` : 'another process';
  const details = owner?.host ? ` (host ${owner.host}, since ${owner.since})` : '';
  return new Failure('service_error', `${path}: ${process} is using this store${details}`, {
    status: 503,
    code: 'store_locked',
  });
}

/** Gives a file its second name, unless that is taken. */
async function tryLink(files: Files, from: string, to: string): Promise<boolean> {
  try {
    await files.link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** The owner that a lock names; null where it is gone by now. */
async function read(files: Files, path: string): Promise<Owner | null> {
  let text: string;
  try {
    text = (await files.readFile(path)).toString();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  if (text === '') return RELEASED;
  const owner = parseOwner(text);
  if (owner) return owner;
  throw new Failure('service_error', `${path}: not a lock of Oriel's; remove it if none runs`, {
    status: 503,
    code: 'store_locked',
  });
}

/** The owner in the text of a lock file; null where it names none. */
export function parseOwner(text: string): Owner | null {
  try {
    const owner = JSON.parse(text) as Owner;
    const isOwner = Number.isSafeInteger(owner.pid) && /^[0-9a-f-]{36}$/.test(owner.token);
    return isOwner ? owner : null;
  } catch {
    return null;
  }
}

/** This process as an owner. */
export async function currentOwner(files: Files): Promise<Owner> {
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

export async function isAlive(files: Files, { pid, boot, started }: Owner): Promise<boolean> {
  if (boot !== (await bootId(files))) return false;
  const now = await processStart(files, pid);
  if (now !== undefined && started !== null) return now === started;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Somebody else's process is a process as well.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function bootId(files: Files): Promise<string | null> {
  try {
    return (await files.readFile('/proc/sys/kernel/random/boot_id')).toString().trim();
  } catch {
    return null;
  }
}

/** When a process started; null where there is none, or only what its parent has yet to bury. */
async function processStart(files: Files, pid: number): Promise<string | null | undefined> {
  if (process.platform !== 'linux') return undefined;
  try {
    const stat = (await files.readFile(join('/proc', String(pid), 'stat'))).toString();
    // The name of the program is in parentheses and may hold anything; the state comes after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}
