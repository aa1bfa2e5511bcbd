import { execFileSync, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** A program that is measured if the machine has it. */
export interface Program {
  name: string;
  /** Its Debian package. */
  from: string;
  /** Its path; `undefined` if it is not installed. */
  file: string | undefined;
}

/**
 * Finds a program on the PATH, or in the sbin folders, which only root's PATH has. `beside` restricts the search to
 * the folder of another program.
 */
export function findProgram(name: string, from: string, beside?: Program): Program {
  const folders =
    beside === undefined
      ? [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
      : beside.file === undefined
        ? []
        : [dirname(beside.file)];
  const file = folders.map((folder) => join(folder, name)).find(isExecutable);
  return { name, from, file };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The first version number that a program prints; most programs say other things before it. */
export function programVersion({ file }: Program, args: readonly string[]): string {
  if (file === undefined) return 'not installed';
  // Some print it on standard error, and some exit with a status other than 0.
  const { stdout, stderr } = spawnSync(file, args, { encoding: 'utf8' });
  return /\d+\.\d+[\w.-]*/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown';
}

/**
 * Installs packages at exact versions into a folder of their own, so that no peer ever becomes a
 * dependency of the project. A folder that already has these versions is reused.
 */
export function installPackages(
  folder: string,
  packages: Record<string, string>,
  log: (line: string) => void,
): void {
  const manifest = JSON.stringify(
    { private: true, type: 'module', dependencies: packages },
    null,
    2,
  );
  const manifestFile = join(folder, 'package.json');
  const current = existsSync(manifestFile) ? readFileSync(manifestFile, 'utf8') : '';
  const complete = Object.entries(packages).every(
    ([name, version]) => packageVersion(folder, name) === version,
  );
  if (current === manifest && complete) return;
  log(`installing ${Object.keys(packages).join(', ')} into ${folder}`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(manifestFile, manifest);
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

function packageVersion(folder: string, name: string): string | undefined {
  const file = join(folder, 'node_modules', name, 'package.json');
  if (!existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
