import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { ROOT, type Run, type RunOptions } from './oriel.ts';

/** What a case asks of the process. */
interface Call {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly input: string | Uint8Array;
}

/** What came of it. */
interface Answer {
  readonly code: number;
  readonly stdout: Uint8Array;
  readonly stderr: string;
}

/** What can be chosen of a call: all that does not need a process of its own. */
export interface CallOptions extends Omit<RunOptions, 'unprivileged' | 'input'> {
  readonly input?: string | Uint8Array;
}

/** Runs the command as `oriel` does. */
export type Command = (args: readonly string[], options?: CallOptions) => Promise<Run>;

/**
 * The built command in one process for all tests of a file, one call after another. For tables of
 * cases, in which starting a process each would take longer than all that is looked at. What only a
 * process of its own shows, its start, its pipes and signals, is for `oriel`.
 */
export function residentCommand(): Command {
  let child: ChildProcess | undefined;
  let last: Promise<unknown> = Promise.resolve();
  afterAll(async () => {
    if (!child) return;
    // Whatever a call left behind, a timer or a thread, would hold it up.
    const exit = once(child, 'exit');
    child.disconnect();
    expect(await exit).toEqual([0, null]);
  });
  const call = async (asked: Call): Promise<Run> => {
    child ??= fork(join(ROOT, 'test', 'resident-process.mjs'), {
      serialization: 'advanced',
      execArgv: [],
    });
    const { code, stdout, stderr } = await answerOf(child, asked);
    const bytes = Buffer.from(stdout);
    return { status: code, code, signal: null, stdout: bytes, out: bytes.toString(), stderr };
  };
  return (args, { cwd = process.cwd(), env = {}, input = '' } = {}) => {
    // As `startProgram` gives it.
    const { FORCE_COLOR: _, ...inherited } = process.env;
    const asked = { args, cwd, input, env: { ...inherited, NO_COLOR: '1', ...env } };
    const run = last.then(() => call(asked));
    last = run.catch(() => {});
    return run;
  };
}

function answerOf(child: ChildProcess, asked: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null, signal: string | null) => {
      reject(new Error(`the process ended with ${code ?? signal} at ${asked.args.join(' ')}`));
    };
    child.once('exit', gone);
    child.once('message', (answer: Answer) => {
      child.off('exit', gone);
      resolve(answer);
    });
    child.send(asked);
  });
}
