import { spawnSync } from 'node:child_process';
import {
  type Run,
  type Running,
  type RunOptions,
  SHELL_ENVIRONMENT,
  SHELL_FUNCTION,
  startProgram,
} from '../oriel.ts';

/** util-linux's script runs a command in a terminal of its own; others of that name do not. */
export const HAS_TERMINAL =
  spawnSync('script', ['--version']).stdout?.toString().includes('util-linux') ?? false;

/** Starts a line of bash in a terminal. What both its outputs show there is `out`. */
export function startInTerminal(line: string, options: RunOptions = {}): Running {
  const environment = { TERM: 'xterm-256color', ...options.env, ...SHELL_ENVIRONMENT };
  const command = `bash -c '${`${SHELL_FUNCTION}; ${line}`.replaceAll("'", `'\\''`)}'`;
  return startProgram('script', ['-qefc', command, '/dev/null'], { ...options, env: environment });
}

/** Milliseconds after which a command that waits for a key is killed. */
const TIMEOUT = 60_000;

/** Runs a line of bash in a terminal, and types each key once the terminal shows what it waits for. */
export async function typed(
  line: string,
  keys: readonly (readonly [shown: string, key: string])[],
  options: RunOptions = {},
): Promise<Run> {
  const { child, ended } = startInTerminal(line, { ...options, input: null });
  const waiting = [...keys];
  let seen = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    seen += chunk;
    const [shown, key] = waiting[0] ?? ['', ''];
    const at = seen.indexOf(shown);
    if (waiting.length === 0 || at < 0) return;
    seen = seen.slice(at + shown.length);
    waiting.shift();
    child.stdin?.write(key);
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT);
  const run = await ended.finally(() => clearTimeout(timer));
  if (run.signal) throw new Error(`waited for ${JSON.stringify(waiting)} on the terminal: ${seen}`);
  return run;
}
