import { exitImmediately } from '../libc.ts';

let nativeCodeRuns = false;

/**
 * Notes that native code may still run when the command is done: an encoder past its deadline, or
 * under way when a signal came. Node cannot stop it, and would wait for it before it exits.
 */
export function noteNativeCode(): void {
  nativeCodeRuns = true;
}

/** Sets the exit code of a command that is done, and ends the process where it would not end by itself. */
export async function endWith(code: number): Promise<void> {
  process.exitCode = code;
  if (nativeCodeRuns) await exitNow(code);
}

/** Ends the process without waiting for native code, once what was printed is written. */
export async function exitNow(code: number): Promise<never> {
  const written = [process.stdout, process.stderr].map(
    (stream) => new Promise((resolve) => stream.write('', resolve)),
  );
  await Promise.all(written);
  // The last listener: those before it flush, as that of the daemon's log does.
  process.on('exit', () => exitImmediately(code));
  return process.exit(code);
}
