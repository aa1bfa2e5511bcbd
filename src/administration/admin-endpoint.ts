import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Address and token of the admin API of the daemon that holds the store's lock. */
export interface AdminEndpoint {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
}

/** Mode 600: a process that can read it could read the store as well. */
const FILE = 'admin.json';

/** The same of the supervisor of several processes. */
export const SUPERVISOR_FILE = 'supervisor.json';

export const newToken = (): string => randomBytes(32).toString('base64url');

/** Writes the file in one rename. Only the process that holds the store's lock may call this. */
export function writeAdminEndpoint(dataDir: string, endpoint: AdminEndpoint, file = FILE): void {
  const path = join(dataDir, file);
  const temporary = `${path}.tmp`;
  // A file that a crash left behind may be readable by others, so it is not written to.
  rmSync(temporary, { force: true });
  writeFileSync(temporary, `${JSON.stringify(endpoint)}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(temporary, path);
}

export function removeAdminEndpoint(dataDir: string, file = FILE): void {
  rmSync(join(dataDir, file), { force: true });
}

/** Undefined where there is no valid file. The daemon of a valid one may have died long ago. */
export function readAdminEndpoint(dataDir: string, file = FILE): AdminEndpoint | undefined {
  try {
    const text = readFileSync(join(dataDir, file), 'utf8');
    const { url, token, pid } = JSON.parse(text) as AdminEndpoint;
    // The token is sent to this machine only, whatever the file contains.
    const isLocal = typeof url === 'string' && /^http:\/\/127\.0\.0\.1:\d{1,5}$/.test(url);
    return isLocal && typeof token === 'string' ? { url, token, pid } : undefined;
  } catch {
    return undefined;
  }
}
