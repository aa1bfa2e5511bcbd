/** Programs of Debian packages that tests start: servers and clients. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'vitest';
import { memory, onProcessEnd } from '../oriel.ts';

export interface Engine {
  /** The Debian package. */
  readonly packageName: string;
  /** Path of its program; null where it is not installed. */
  readonly program: string | null;
}

/** @param programs names, of which the first that is installed is taken */
export function engine(packageName: string, ...programs: readonly string[]): Engine {
  const folders = [
    '/usr/lib/postgresql/15/bin',
    ...(process.env['PATH'] ?? '').split(delimiter),
    '/usr/sbin',
  ];
  const paths = programs.flatMap((name) => folders.map((folder) => join(folder, name)));
  return { packageName, program: paths.find(isExecutable) ?? null };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A describe block that is skipped, with the names of the packages, where an engine is not installed. */
export function describeWith(engines: readonly Engine[], name: string, body: () => void): void {
  const missing = engines.filter(({ program }) => program === null);
  describe.skipIf(missing.length > 0)(name, body);
  for (const { packageName } of missing) {
    test(name, ({ skip }) => skip(`the Debian package ${packageName} is not installed`));
  }
}

/** A new folder in memory for the files of an engine. The end of this process removes it at the latest. */
export function engineFolder(name: string): string {
  const folder = mkdtempSync(join(memory(), `oriel-${name}-`));
  onProcessEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** A process of an engine. */
export interface EngineProcess {
  readonly child: ChildProcess;
  /** Sends a signal; resolves when the process has ended. */
  end(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Starts a program and waits for a line of its output.
 *
 * @param isReady whether a line of standard output or error says that it accepts connections
 * @throws Error with all lines if it ends first
 */
export async function startEngine(
  program: string,
  args: readonly string[],
  isReady: (line: string) => boolean,
  { uid, gid }: Pick<SpawnOptions, 'uid' | 'gid'> = {},
): Promise<EngineProcess> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], uid, gid });
  const end = (signal: NodeJS.Signals) => {
    // A stopped process handles no other signal.
    child.kill('SIGCONT');
    child.kill(signal);
  };
  // SIGKILL would leave worker processes.
  const release = onProcessEnd(() => end('SIGTERM'));
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      release();
      resolve();
    });
  });
  const lines: string[] = [];
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line);
        if (isReady(line)) resolve();
      });
    }
    child.once('error', reject);
    void ended.then(() => reject(new Error(`${program} ended:\n${lines.join('\n')}`)));
  });
  return {
    child,
    async end(signal = 'SIGKILL') {
      end(signal);
      await ended;
    },
  };
}
