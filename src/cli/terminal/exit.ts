import { exitImmediately } from '../../libc.ts';

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
export async function exitNow(code: number): Promise<never> {
  const written = [process.stdout, process.stderr].map(
    (stream) => new Promise((resolve) => stream.write('', resolve)),
  );
  await Promise.all(written);
  // Added last: earlier listeners flush, as that of the daemon's log does.
  process.on('exit', () => exitImmediately(code));
  return process.exit(code);
}
