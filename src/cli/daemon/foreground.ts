import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';
import { printStderr } from '../terminal/terminal.ts';

/** Signals that a terminal sends to this process and to the command alike. */
const FROM_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const SIGNALS: readonly NodeJS.Signals[] = [...FROM_TERMINAL, 'SIGTERM', 'SIGHUP'];

/** Exit codes of shells for commands that cannot be run (POSIX, 2.8.2). */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such command',
  EACCES: 'it is not executable',
};

const statusOf = (signal: NodeJS.Signals) => 128 + constants.signals[signal];

/** Runs a command in the terminal of this process, which survives signals until the command has ended. */
export class Foreground {
  readonly #stop = new AbortController();
  /** Aborted by a signal that arrives before the command runs. */
  readonly stop: AbortSignal = this.#stop.signal;
  /** The exit code after such a signal. */
  status: number | null = null;
  #child: ChildProcess | null = null;

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#receive);
  }

  /** Resolves with the exit code: that of the command, or 128 plus the number of the signal that ended it. */
  run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
    return new Promise((resolve) => {
      if (this.status !== null) return resolve(this.status);
      const refuse = (error: NodeJS.ErrnoException) => {
        // A signal to a command of another user is an error, too.
        if (this.#child?.pid !== undefined) return;
        const { code = '', message } = error;
        printStderr(`oriel: cannot run ${JSON.stringify(command)}: ${REASONS[code] ?? message}`);
        resolve(code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE);
      };
      try {
        this.#child = spawn(command, args, { stdio: 'inherit', env });
      } catch (error) {
        return refuse(error as NodeJS.ErrnoException);
      }
      this.#child.once('error', refuse);
      this.#child.once('exit', (code, signal) => resolve(code ?? statusOf(signal!)));
    });
  }

  /** Asks the command to end. */
  end(): void {
    this.#child?.kill('SIGTERM');
  }

  readonly #receive = (signal: NodeJS.Signals): void => {
    if (this.#child === null) {
      this.status = statusOf(signal);
      this.#stop.abort();
    } else if (!FROM_TERMINAL.includes(signal) || ![0, 1, 2].some(isatty)) {
      this.#child.kill(signal);
    }
  };
}
