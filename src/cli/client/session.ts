import { Failure } from '../../failure.ts';
import { printStderr } from '../terminal/terminal.ts';
import { DaemonClient } from './daemon-client.ts';

const INTERRUPTED = 130;

/** State of a command that talks to a daemon. */
export interface Session {
  readonly client: DaemonClient;
  /** Aborts at ^C. */
  readonly signal: AbortSignal;
  /** Advice on how to continue a task that is still running when the command ends. */
  resumeHint: string | null;
}

/**
 * Runs a command with a client of a daemon; ^C aborts it.
 *
 * @param flags as commander parsed them
 * @returns the exit code
 * @throws Failure, with advice on how to continue where a task is running
 */
export async function inSession(
  flags: Readonly<Record<string, unknown>>,
  work: (session: Session) => Promise<number>,
): Promise<number> {
  const interrupted = new AbortController();
  const client = new DaemonClient(flags, interrupted.signal);
  const session: Session = { client, signal: interrupted.signal, resumeHint: null };
  // Once: a second ^C ends the process.
  const interrupt = () => interrupted.abort();
  process.once('SIGINT', interrupt);
  try {
    return await work(session);
  } catch (error) {
    const { resumeHint } = session;
    if (interrupted.signal.aborted) {
      printStderr(`oriel: interrupted${resumeHint === null ? '' : `; ${resumeHint}`}`);
      return INTERRUPTED;
    }
    if (!(error instanceof Failure) || resumeHint === null || isFinal(error)) throw error;
    const { type, message, code, status } = error;
    throw new Failure(type, `${message}; ${resumeHint}`, {
      originalCode: code,
      status,
      cause: error,
    });
  } finally {
    process.off('SIGINT', interrupt);
    await client.close();
  }
}

/** Whether a retry would fail as well, for example because the task does not exist. */
function isFinal({ type, code }: Failure): boolean {
  return type === 'auth_error' || (type === 'invalid_request' && code !== 'output_exists');
}
