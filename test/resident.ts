import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { NODE_FLAGS } from './node-flags.ts';
import { ROOT, type Run, type RunOptions } from './oriel.ts';

/** One call of the command. */
interface Call {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: string | Uint8Array;
}

/** Result of a call. */
interface Result {
  readonly code: number;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}

/** Options of a call: all that do not need a separate process. */
export interface CallOptions extends Omit<RunOptions, 'unprivileged' | 'input'> {
  readonly input?: string | Uint8Array;
}

/** Runs the command as `oriel` does. */
export type Command = (args: readonly string[], options?: CallOptions) => Promise<Run>;

/**
 * The built command in one process for all tests of a file, one call after another, for tables of cases: starting
 * a process for each would take most of the time. Tests of start, pipes and signals use `oriel`.
 *
 * @param execArgv flags of Node for that process
 */
export function residentCommand(execArgv: readonly string[] = []): Command {
  let child: ChildProcess | undefined;
  let last: Promise<unknown> = Promise.resolve();
  afterAll(async () => {
    if (!child) return;
    const ended = child;
    // Modules that several test files share keep this closure: the next file starts a process of its own.
    child = undefined;
    ended.ref();
    // A timer or thread that a call left behind would delay the exit.
    const exit = once(ended, 'exit');
    ended.disconnect();
    expect(await exit).toEqual([0, null]);
  });
  const perform = async (call: Call): Promise<Run> => {
    child ??= startResident(execArgv);
    const { code, stdout, stderr } = await resultOf(child, call);
    const bytes = Buffer.from(stdout);
    return { status: code, code, signal: null, stdout: bytes, out: bytes.toString(), stderr };
  };
  return (args, { cwd = process.cwd(), env = {}, input = '' } = {}) => {
    // Same environment as in `startProgram`.
    const { FORCE_COLOR: _, ...inherited } = process.env;
    const call = { args, cwd, input, env: { ...inherited, NO_COLOR: '1', ...env } };
    const run = last.then(() => perform(call));
    last = run.catch(() => {});
    return run;
  };
}

function startResident(execArgv: readonly string[]): ChildProcess {
  const child = fork(join(ROOT, 'test', 'resident-process.mjs'), {
    serialization: 'advanced',
    execArgv: [...NODE_FLAGS, ...execArgv],
  });
  // Only calls keep the process of the tests from ending.
  child.unref();
  child.channel?.unref();
  return child;
}

function resultOf(child: ChildProcess, call: Call): Promise<Result> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null, signal: string | null) => {
      reject(new Error(`the process ended with ${code ?? signal} during ${call.args.join(' ')}`));
    };
    child.once('exit', gone);
    child.once('message', (result: Result) => {
      child.off('exit', gone);
      resolve(result);
    });
    child.send(call);
  });
}
