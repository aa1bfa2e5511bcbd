import { exitImmediately } from '../../libc.ts';
import { removeTemporaryFolders } from '../../temporary.ts';

let nativeCodeRuns = false;

/**
 * Marks that native code may still run when the command ends: an encoder past its deadline, or one
 * that was running at a signal. Node cannot stop it, and would wait for it before it exits.
 */
export function noteNativeCode(): void {
  nativeCodeRuns = true;
}

/** Sets the exit code of a finished command, and ends the process where native code may still run. */
export async function endWith(code: number): Promise<void> {
  process.exitCode = code;
  if (nativeCodeRuns) await exitNow(code);
}

/** Ends the process without waiting for native code, once standard output and error are written. */
async function exitNow(code: number): Promise<never> {
  const written = [process.stdout, process.stderr].map(
    (stream) => new Promise((resolve) => stream.write('', resolve)),
  );
  await Promise.all(written);
  // Added last: earlier listeners flush, as that of the daemon's log does.
  process.on('exit', () => {
    // Of programs whose threads were ended at a deadline.
    removeTemporaryFolders(process.pid);
    exitImmediately(code);
  });
  return process.exit(code);
}

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
