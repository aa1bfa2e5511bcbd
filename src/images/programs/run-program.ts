import { type ExecFileException, execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import type { Failure } from '../../failure.ts';
import { sizeText } from '../byte-size.ts';
import { fileFailure } from '../file-error.ts';
import type { Limits } from '../limits.ts';
import type { Programs } from '../program-formats.ts';

const found = new Map<string, string | undefined>();

/** The first of some programs in PATH, which is searched once. Relative folders of PATH are ignored. */
export function findProgram(names: readonly string[]): string | undefined {
  const key = names.join(' or ');
  if (!found.has(key)) {
    const folders = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
    const paths = names.flatMap((name) => folders.map((folder) => join(folder, name)));
    found.set(
      key,
      paths.find((path) => existsSync(path)),
    );
  }
  return found.get(key);
}

/** What bounds programs on Linux: memory, time and files, the terminal's signals, and the life of their parent. */
const LIMITERS: Programs = {
  label: '',
  programs: process.platform === 'linux' ? [['prlimit'], ['setsid'], ['setpriv']] : [],
  packages: ['util-linux', 'util-linux', 'util-linux'],
};

/** A parent that died before setpriv took effect would leave its program running. */
const WHILE_PARENT_LIVES = '[ "$PPID" = "$0" ] && exec "$@"';

/** The sentence about the programs of a format that are not installed; null where all are. */
export function missingPrograms({ label, programs, packages }: Programs): string | null {
  const missing = programs.find((names) => findProgram(names) === undefined);
  if (!missing) return label === '' ? null : missingPrograms(LIMITERS);
  const [debian, fedora, macos] = packages;
  return `${missing.join(' or ')} is not installed: apt install ${debian} (Debian), dnf install ${fedora} (Fedora), brew install ${macos} (macOS)`;
}

/** @throws Failure unsupported_format where the programs of a format are switched off or not installed */
export function checkPrograms(format: Programs, { programs }: Pick<Limits, 'programs'>): void {
  const off = 'are not supported here: programs for them are switched off';
  const missing = missingPrograms(format);
  const fault = programs ? missing && `need a program: ${missing}` : off;
  if (fault) throw fileFailure('unsupported_format', `${format.label} images ${fault}`);
}

/** Memory of a program beside its pixels: libraries, stacks of threads, fonts. */
const OVERHEAD_BYTES = 256 * 2 ** 20;
/** Factor by which costs of pixels may be too low. */
const TOLERANCE = 1.5;
/** Most bytes of a program's messages. */
const MAX_TEXT = 64 * 1024;

/**
 * Runs an installed program in a folder, with none of the environment but PATH. No shell reads its arguments.
 *
 * @param limits bytes of memory for its pixels and of each file that it writes, and when it is killed, as
 *   performance.now()
 * @returns its standard output
 * @throws Failure timeout; corrupt_image with the program's message if it fails; worker_crashed if a signal ends it
 */
export async function runProgram(
  names: readonly string[],
  args: string,
  folder: string,
  { memory, fileBytes, until }: Readonly<Record<'memory' | 'fileBytes' | 'until', number>>,
): Promise<string> {
  const milliseconds = Math.max(1, Math.ceil(until - performance.now()));
  const data = Math.ceil((memory * TOLERANCE + OVERHEAD_BYTES) / 2 ** 20) * 2 ** 20;
  // Threads count together, and HEIC has four.
  const seconds = Math.ceil(milliseconds / 1000) * 4;
  const bounds = `--data=${data} --fsize=${fileBytes + 2 ** 20} --core=0 --cpu=${seconds}`;
  const [limit, detach, bind] = LIMITERS.programs.map((own) => findProgram(own)!);
  const bound = [bind, '--pdeathsig', 'KILL', '--', '/bin/sh', '-c', WHILE_PARENT_LIVES];
  const limited = [limit, ...bounds.split(' '), detach, ...bound, String(process.pid)];
  const [command, ...words] = [...(bind ? limited : []), findProgram(names), ...args.split(' ')];
  const options = {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder, LC_ALL: 'C.UTF-8' },
    ...({ timeout: milliseconds, killSignal: 'SIGKILL', maxBuffer: MAX_TEXT } as const),
  };
  return new Promise((resolve, reject) => {
    const child = execFile(command!, words as string[], options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(failureOf(error, basename(findProgram(names)!), stderr, data));
    });
    child.stdin?.end();
  });
}

function failureOf(error: ExecFileException, name: string, text: string, memory: number): Failure {
  const { killed, signal, code } = error;
  // It did not start, or printed too much.
  if (typeof code === 'string')
    return fileFailure('processing_failed', `${name}: ${error.message}`);
  if (killed) return fileFailure('timeout', `${name} was not done in time`);
  const ended = `${name} ended with ${signal}; it may use ${sizeText(memory)} of memory`;
  if (signal) return fileFailure('worker_crashed', ended);
  const line = text.split('\n').find((one) => one.trim() !== '') ?? `exit code ${code}`;
  return fileFailure(
    'corrupt_image',
    `${name}: ${line.replace(/[^\x20-\x7e]|\S+:\d+: /g, '').slice(0, 200)}`,
  );
}
