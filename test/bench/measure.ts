import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

/** A process to start, as a user would start it, without code of the harness. */
export interface Command {
  file: string;
  args: readonly string[];
  env?: Record<string, string>;
  /** A file for standard input; nothing otherwise. */
  stdin?: string;
}

export type Figures = {
  /** Seconds from start to exit. */
  wall: number;
  /** Seconds of user and system time of the process and its children. */
  cpu: number;
  /**
   * Bytes: the larger of the greatest resident set of any one process of the tree (exact, where GNU time
   * is installed) and the greatest sampled sum over the tree.
   */
  peak?: number;
  /** Seconds of CPU time of all other processes meanwhile. */
  others: number;
};

/** The user interrupted the run. */
export class Interruption extends Error {}

const timeLimit = 15 * 60_000;
const samplingInterval = 25;
const gnuTime = ['/usr/bin/time', '/usr/local/bin/gtime', '/opt/homebrew/bin/gtime'].find(
  isGnuTime,
);

/** Whether exact peak memory is available; sampling misses processes of milliseconds. */
export const hasGnuTime = gnuTime !== undefined;

/**
 * bash reads its children's times to the millisecond where GNU time stops at hundredths, and GNU time
 * reports peak memory, which bash does not. Being small, it also keeps Node's own size out of the
 * figure: a process inherits the peak of the one that forked it.
 */
const script = 'TIMEFORMAT="%3R %3U %3S"; times=$1; shift; { time "$@" 2>&3 3>&-; } 2>"$times"';

/**
 * Runs the command to its end, with its outputs in `folder`: `stdout`, `stderr` and the measuring
 * tools' own output.
 *
 * @throws Interruption on SIGINT, and another error if the command cannot be started, fails, or does not end
 *   within a quarter of an hour
 */
export async function measure(command: Command, folder: string): Promise<Figures> {
  const times = join(folder, 'times');
  const memory = join(folder, 'memory');
  const errors = join(folder, 'stderr');
  const descriptors = [
    command.stdin === undefined ? 'ignore' : openSync(command.stdin, 'r'),
    openSync(join(folder, 'stdout'), 'w'),
    openSync(join(folder, 'shell'), 'w'),
    openSync(errors, 'w'),
  ] as const;
  const timed = gnuTime === undefined ? [] : [gnuTime, '-q', '-f', '%M', '-o', memory];
  let sampled: number | undefined;
  let code: number | string | null;
  let interrupted = false;
  const busyBefore = busySeconds();
  try {
    const child = spawn(
      'bash',
      ['-c', script, 'bench', times, ...timed, command.file, ...command.args],
      {
        stdio: [...descriptors],
        env: { ...process.env, NO_COLOR: '1', ...command.env },
        detached: true,
      },
    );
    // The wrappers are not part of what is measured.
    const depth = gnuTime === undefined ? 1 : 2;
    const sampler = setInterval(() => {
      const size = treeSize(child.pid!, depth);
      if (size !== undefined) sampled = Math.max(sampled ?? 0, size);
    }, samplingInterval);
    // A process group of its own, so that the whole tree can be killed.
    const kill = () => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL');
    const interrupt = () => {
      interrupted = true;
      kill();
    };
    const deadline = setTimeout(kill, timeLimit);
    process.once('SIGINT', interrupt);
    try {
      code = await new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('exit', (status, signal) => resolve(status ?? signal));
      });
    } finally {
      clearInterval(sampler);
      clearTimeout(deadline);
      process.off('SIGINT', interrupt);
    }
  } finally {
    for (const descriptor of descriptors) {
      if (typeof descriptor === 'number') closeSync(descriptor);
    }
  }
  const busy = busySeconds() - busyBefore;
  if (interrupted) throw new Interruption();
  if (code !== 0) {
    const said = readFileSync(errors, 'utf8').trim().slice(-600);
    throw new Error(`${command.file} ended with ${code}: ${said}`);
  }
  const [wall, user, system] = readFileSync(times, 'utf8').trim().split(' ').map(Number);
  if (wall === undefined || user === undefined || system === undefined) {
    throw new Error(`bash reported no times for ${command.file}`);
  }
  const exact = gnuTime === undefined ? 0 : Number(readFileSync(memory, 'utf8')) * 1024;
  const peak = Math.max(exact, sampled ?? 0);
  const cpu = user + system;
  return { wall, cpu, ...(peak > 0 && { peak }), others: Math.max(0, busy - cpu) };
}

/** Total CPU time of the machine. */
function busySeconds(): number {
  const milliseconds = cpus().reduce((sum, { times }) => {
    return sum + times.user + times.nice + times.sys + times.irq;
  }, 0);
  return milliseconds / 1000;
}

/** The resident bytes of all descendants at least `depth` below `id`, if the system has /proc. */
function treeSize(id: number, depth: number): number | undefined {
  let total: number | undefined;
  try {
    if (depth <= 0) {
      const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'));
      if (resident !== null) total = Number(resident[1]) * 1024;
    }
    for (const thread of depth > 0 ? [String(id)] : readdirSync(`/proc/${id}/task`)) {
      const children = readFileSync(`/proc/${id}/task/${thread}/children`, 'utf8');
      for (const child of children.split(' ').filter(Boolean)) {
        const size = treeSize(Number(child), depth - 1);
        if (size !== undefined) total = (total ?? 0) + size;
      }
    }
  } catch {
    // The process ended between two reads, or the system has no /proc.
  }
  return total;
}

/** BSD's `time` is at the same path and takes other flags. */
function isGnuTime(file: string): boolean {
  return existsSync(file) && readFileSync(file).includes('Free Software Foundation');
}
