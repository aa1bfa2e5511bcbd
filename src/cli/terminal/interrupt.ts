import { exitImmediately } from '../../libc.ts';
import { exitNow } from './exit.ts';

/** Exit codes of a process that a signal ended: 128 plus the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

type StopSignal = keyof typeof EXIT_CODES;

const SIGNALS = Object.keys(EXIT_CODES) as StopSignal[];

/** Of nested calls, the last one handles a signal. */
const cleanUps: (() => Promise<void>)[] = [];
let interrupted = false;

function handle(signal: StopSignal): void {
  const code = EXIT_CODES[signal];
  if (interrupted) exitImmediately(code);
  interrupted = true;
  void cleanUps.at(-1)!().finally(() => exitNow(code));
}

/**
 * Ends the process after the first signal, once `cleanUp` has completed; running encoders are not
 * waited for. A second signal ends the process at once.
 *
 * @returns removes the handlers. A signal that has arrived, but was not handled before the last are removed, is
 *   lost: a command that goes on keeps handlers of its own around those of its parts.
 */
export function onInterrupt(cleanUp: () => Promise<void>): () => void {
  if (cleanUps.length === 0) for (const signal of SIGNALS) process.on(signal, handle);
  cleanUps.push(cleanUp);
  return () => {
    cleanUps.splice(cleanUps.indexOf(cleanUp), 1);
    if (cleanUps.length === 0) for (const signal of SIGNALS) process.off(signal, handle);
  };
}
