import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the daemon that has the store takes administration, and the proof that one may ask it. */
export interface Door {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
}

/** Readable by the owner of the data directory alone: who can read it could read the store as well. */
const FILE = 'admin.json';

export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Only whoever holds the store's lock may do this. The file appears whole or not at all. */
export function writeDoor(dataDir: string, door: Door): void {
  const path = join(dataDir, FILE);
  const beside = `${path}.tmp`;
  // What a crash left behind may be readable by others, and is not written into.
  rmSync(beside, { force: true });
  writeFileSync(beside, `${JSON.stringify(door)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(beside, path);
}

export function removeDoor(dataDir: string): void {
  rmSync(join(dataDir, FILE), { force: true });
}

/** Undefined where there is none, or none that makes sense. It may be that of a daemon long dead. */
export function readDoor(dataDir: string): Door | undefined {
  try {
    const { url, token, pid } = JSON.parse(readFileSync(join(dataDir, FILE), 'utf8')) as Door;
    // The token goes nowhere but to this machine, whatever the file says.
    const local = typeof url === 'string' && /^http:\/\/127\.0\.0\.1:\d{1,5}$/.test(url);
    return local && typeof token === 'string' ? { url, token, pid } : undefined;
  } catch {
    return undefined;
  }
}
