import { Failure } from '../../failure.ts';
import { printStderr } from '../terminal.ts';
import { DaemonClient } from './daemon-client.ts';

const INTERRUPTED = 130;

/** One command's time with a daemon. */
export interface Session {
  readonly client: DaemonClient;
  /** Aborted at ^C. */
  readonly signal: AbortSignal;
  /** How to go on with what is under way there, should this command end before it does. */
  pickUp: string | null;
}

/**
 * Does a command's work with a daemon; ^C leaves it.
 *
 * @param flags what commander parsed
 * @returns the exit code
 * @throws Failure, which tells how to go on where something is under way
 */
export async function inSession(
  flags: Readonly<Record<string, unknown>>,
  work: (session: Session) => Promise<number>,
): Promise<number> {
  const leaving = new AbortController();
  const client = new DaemonClient(flags, leaving.signal);
  const session: Session = { client, signal: leaving.signal, pickUp: null };
  // A second one finds its default meaning.
  const interrupt = () => leaving.abort();
  process.once('SIGINT', interrupt);
  try {
    return await work(session);
  } catch (error) {
    const { pickUp } = session;
    if (leaving.signal.aborted) {
      printStderr(`oriel: interrupted${pickUp === null ? '' : `; ${pickUp}`}`);
      return INTERRUPTED;
    }
    if (!(error instanceof Failure) || pickUp === null || isFinal(error)) throw error;
    const { type, message, code, status } = error;
    throw new Failure(type, `${message}; ${pickUp}`, {
      originalCode: code,
      status,
      cause: error,
    });
  } finally {
    process.off('SIGINT', interrupt);
    await client.close();
  }
}

/** Whether the same would come of another attempt: there is no such task, printStderr, or no such key. */
function isFinal({ type, code }: Failure): boolean {
  return type === 'auth_error' || (type === 'invalid_request' && code !== 'output_exists');
}
