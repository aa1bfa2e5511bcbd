import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
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

/** A process that runs commands, and its latest call. */
interface Resident {
  readonly child: ChildProcess;
  last: Promise<unknown>;
}

/** By flags of Node. Calls of all test files that this process runs share them. */
const residents = new Map<string, Resident>();
/** Exit codes and signals of those that ended, which none should before this process does. */
const ended: unknown[] = [];

/**
 * The built command in one process for all tests, one call after another, for tables of cases: starting a process
 * for each would take most of the time. Tests of start, pipes and signals use `oriel`.
 *
 * @param execArgv flags of Node for that process
 */
export function residentCommand(execArgv: readonly string[] = []): Command {
  const key = execArgv.join(' ');
  afterAll(async () => {
    const resident = residents.get(key);
    // A timer or thread that a call left behind would delay the exit of the command.
    while (resident && (await ask<string[]>(resident.child, 'active')).length > 0) await delay(20);
    expect(ended).toEqual([]);
  });
  return (args, { cwd = process.cwd(), env = {}, input = '' } = {}) => {
    // Same environment as in `startProgram`.
    const { FORCE_COLOR: _, ...inherited } = process.env;
    const call = { args, cwd, input, env: { ...inherited, NO_COLOR: '1', ...env } };
    const resident = residents.get(key) ?? startResident(key, execArgv);
    const run = resident.last.then(async (): Promise<Run> => {
      const { code, stdout, stderr } = await ask<Result>(resident.child, call);
      const bytes = Buffer.from(stdout);
      return { status: code, code, signal: null, stdout: bytes, out: bytes.toString(), stderr };
    });
    resident.last = run.catch(() => {});
    return run;
  };
}

/** Administers a running daemon as its operator would. @returns what the command prints */
export function administrator(daemon: () => { readonly data: string }) {
  const command = residentCommand();
  return async (...args: string[]): Promise<string> => {
    const run = await command([...args, '--data', daemon().data]);
    expect(run.stderr, args.join(' ')).not.toMatch(/^oriel: /m);
    expect(run.status).toBe(0);
    return run.out.trim();
  };
}

function startResident(key: string, execArgv: readonly string[]): Resident {
  const child = fork(join(ROOT, 'test', 'resident-process.mjs'), {
    serialization: 'advanced',
    execArgv: [...NODE_FLAGS, ...execArgv],
  });
  // Only calls keep the process of the tests from ending.
  child.unref();
  child.channel?.unref();
  child.once('exit', (code, signal) => {
    residents.delete(key);
    ended.push(code ?? signal);
  });
  const resident = { child, last: Promise.resolve() };
  residents.set(key, resident);
  return resident;
}

/** The answer of the process to a call, or what else than this process keeps it from ending. */
function ask<Answer>(child: ChildProcess, message: Call | 'active'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null, signal: string | null) => {
      const what = message === 'active' ? 'no call' : message.args.join(' ');
      reject(new Error(`the process ended with ${code ?? signal} during ${what}`));
    };
    child.once('exit', gone);
    child.once('message', (answer: Answer) => {
      child.off('exit', gone);
      resolve(answer);
    });
    child.send(message);
  });
}
