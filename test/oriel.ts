import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { NODE_FLAGS } from './node-flags.ts';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
const BINARY = join(ROOT, 'dist', 'bin', 'oriel.cjs');
/** Torture measures the program as users start it. */
const FLAGS = process.env['VITEST'] === undefined ? [] : NODE_FLAGS;

export interface Run {
  /** Exit status as in a shell's `$?`: 128 plus the number of a signal. */
  readonly status: number;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: Buffer;
  /** Standard output as text. */
  readonly out: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  /** Standard input; null leaves it open for the test to write. */
  readonly input?: string | Uint8Array | null;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Run as a user to whom file permissions apply, even if the tests run as root. */
  readonly unprivileged?: boolean;
  /** Limit of open descriptors. */
  readonly descriptors?: number;
}

/** A running process. */
export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Run>;
}

/** User id that owns no files. */
const UNPRIVILEGED_UID = 65534;

/**
 * The words of a command line: words`convert ${name} --out ${out}`. A value stays in its word, whatever is in it, and
 * a list is several words.
 */
export function words(
  texts: TemplateStringsArray,
  ...values: readonly (string | number | readonly string[])[]
): string[] {
  const line = texts.reduce((before, text, index) => `${before}\0${index - 1}\0${text}`);
  return line.split(/\s+/).flatMap((word) => {
    const [, whole] = /^\0(\d+)\0$/.exec(word) ?? [];
    const list = values[Number(whole)];
    if (Array.isArray(list)) return list;
    return word.replace(/\0(\d+)\0/g, (_, index) => String(values[index]));
  });
}

/** Starts the built binary as a user would. */
export function start(args: readonly string[], options: RunOptions = {}): Running {
  return startProgram(process.execPath, [...FLAGS, BINARY, ...args], options);
}

/** Runs the built binary as a user would, and waits for it to end. */
export async function oriel(args: readonly string[], options: RunOptions = {}): Promise<Run> {
  return start(args, options).ended;
}

/** Runs a line of shell in which `oriel` is the built binary. */
export async function shell(line: string, options: RunOptions = {}): Promise<Run> {
  const env = { ...options.env, ...SHELL_ENVIRONMENT };
  return startProgram('sh', ['-c', `${SHELL_FUNCTION}\n${line}`], { ...options, env }).ended;
}

/** Defines `oriel` as a command in any shell, with the variables of SHELL_ENVIRONMENT. */
export const SHELL_FUNCTION = 'oriel() { "$NODE" $FLAGS "$BINARY" "$@"; }';
export const SHELL_ENVIRONMENT = { NODE: process.execPath, FLAGS: FLAGS.join(' '), BINARY };

/** Starts any program with its output collected. */
export function startProgram(
  program: string,
  args: readonly string[],
  { cwd, input = '', env = {}, unprivileged = false, descriptors }: RunOptions = {},
): Running {
  if (descriptors !== undefined) {
    const limited = ['-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', program, ...args];
    return startProgram('sh', limited, {
      input,
      env,
      unprivileged,
      ...(cwd !== undefined && { cwd }),
    });
  }
  // Test runners may set FORCE_COLOR for their children.
  const { FORCE_COLOR: _, ...inherited } = process.env;
  const child = spawn(program, args, {
    cwd,
    env: { ...inherited, NO_COLOR: '1', ...env },
    ...(unprivileged &&
      process.getuid?.() === 0 && { uid: UNPRIVILEGED_UID, gid: UNPRIVILEGED_UID }),
  });
  child.once(
    'close',
    onProcessEnd(() => child.kill('SIGKILL')),
  );
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.stdin.on('error', () => {});
  if (input !== null) child.stdin.end(input);
  const ended = new Promise<Run>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      const bytes = Buffer.concat(stdout);
      resolve({
        status: code ?? 128 + constants.signals[signal!],
        code,
        signal,
        stdout: bytes,
        out: bytes.toString(),
        stderr: Buffer.concat(stderr).toString(),
      });
    });
  });
  return { child, ended };
}

/** A temporary folder, removed when the running test ends. */
export function temporaryFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'oriel-test-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const release = onProcessEnd(remove);
  onTestFinished(() => {
    remove();
    release();
  });
  return folder;
}

const SHARED_MEMORY = '/dev/shm';
const MEMORY_BYTES = 512 * 1024 * 1024;

/** A folder in memory, where the system has one with space. */
export function memory(): string {
  const space = existsSync(SHARED_MEMORY) ? statfsSync(SHARED_MEMORY) : null;
  const hasSpace = space !== null && space.bavail * space.bsize >= MEMORY_BYTES;
  return hasSpace ? SHARED_MEMORY : tmpdir();
}

/** A temporary folder in memory: for tests that sync thousands of files, and look at them through the file system alone. */
export const memoryFolder = () => temporaryFolder(memory());

const cleanups = new Set<() => void>();
let hasListeners = false;

/**
 * Runs at the end of this process, which may run many test files, for what they share, and for what tests have
 * started when it is ended in the middle of them. The latest runs first.
 *
 * @returns a function that takes it back
 */
export function onProcessEnd(clean: () => void = () => {}): () => void {
  cleanups.add(clean);
  if (!hasListeners) {
    hasListeners = true;
    process.once('exit', () => {
      for (const cleanup of [...cleanups].toReversed()) cleanup();
    });
    // Vitest ends its processes by SIGTERM, and a closed terminal by SIGHUP, which by default emit no exit; they
    // disconnect where it was killed.
    for (const end of ['SIGTERM', 'SIGHUP', 'disconnect']) process.once(end, () => process.exit());
  }
  return () => cleanups.delete(clean);
}

/** Makes a folder writable for `unprivileged` runs. */
export function handOver(folder: string): void {
  chmodSync(folder, 0o755);
  if (process.getuid?.() === 0) chownSync(folder, UNPRIVILEGED_UID, UNPRIVILEGED_UID);
}
