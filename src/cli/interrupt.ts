import { exitImmediately } from '../libc.ts';
import { exitNow } from './exit.ts';

/** Exit codes of a process that a signal ended: 128 plus the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

type StopSignal = keyof typeof EXIT_CODES;

/**
 * Ends the process after the first signal, once `cleanUp` has completed; running encoders are not
 * waited for. A second signal ends the process at once.
 *
 * @returns removes the handlers
 */
export function onInterrupt(cleanUp: () => Promise<void>): () => void {
  const signals = Object.keys(EXIT_CODES) as StopSignal[];
  let interrupted = false;
  const handle = (signal: StopSignal) => {
    const code = EXIT_CODES[signal];
    if (interrupted) exitImmediately(code);
    interrupted = true;
    void cleanUp().finally(() => exitNow(code));
  };
  for (const signal of signals) process.on(signal, handle);
  return () => {
    for (const signal of signals) process.off(signal, handle);
  };
}
