import { Failure } from '../../failure.ts';
import type { Flags } from '../command/command.ts';
import { printStderr } from '../terminal/terminal.ts';
import { DaemonClient } from './daemon-client.ts';

const INTERRUPTED = 130;

/** State of a command that talks to a daemon. */
export interface Session {
  readonly client: DaemonClient;
  /** Aborts at ^C. */
  readonly signal: AbortSignal;
  /** Ends the command as ^C does. */
  readonly interrupt: () => void;
  /** Advice on how to continue a task that is still running when the command ends. */
  resumeHint: string | null;
}

/**
 * Runs a command with a client of a daemon; ^C aborts it.
 *
 * @param reportsInterrupt false ends the command at ^C without a message
 * @returns the exit code
 * @throws Failure, with advice on how to continue if a task is running
 */
export async function inSession(
  flags: Flags,
  work: (session: Session) => Promise<number>,
  reportsInterrupt = true,
): Promise<number> {
  const interrupted = new AbortController();
  const { signal } = interrupted;
  const interrupt = () => interrupted.abort();
  const client = new DaemonClient(flags, signal);
  const session: Session = { client, signal, interrupt, resumeHint: null };
  // Once: a second ^C ends the process.
  process.once('SIGINT', interrupt);
  try {
    const exitCode = await work(session);
    return signal.aborted && !reportsInterrupt ? INTERRUPTED : exitCode;
  } catch (error) {
    const { resumeHint } = session;
    if (signal.aborted) {
      const advice = resumeHint === null ? '' : `; ${resumeHint}`;
      if (reportsInterrupt) printStderr(`oriel: interrupted${advice}`);
      return INTERRUPTED;
    }
    if (!(error instanceof Failure) || resumeHint === null || isFinal(error)) throw error;
    const { type, message, code, status } = error;
    const details = { originalCode: code, status, cause: error };
    throw new Failure(type, `${message}; ${resumeHint}`, details);
  } finally {
    process.off('SIGINT', interrupt);
    await client.close();
  }
}

/** Whether a retry would fail as well, for example because the task does not exist. */
function isFinal({ type, code }: Failure): boolean {
  return type === 'auth_error' || (type === 'invalid_request' && code !== 'output_exists');
}
