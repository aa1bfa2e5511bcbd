import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Folders in which Debian's packages install programs; some are not on the path of ordinary users. */
const FOLDERS = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/bin', '/sbin'];

/** Programs with the Debian packages that have them. */
export type Packages = Readonly<Record<string, string>>;

/** The packages of programs that are not installed; empty if all are. */
export function missingPackages(programs: Packages): readonly string[] {
  const missing = Object.entries(programs).filter(
    ([program]) => !FOLDERS.some((folder) => existsSync(join(folder, program))),
  );
  return [...new Set(missing.map(([, name]) => name))];
}
