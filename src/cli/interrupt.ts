import { exitImmediately } from '../libc.ts';
import { exitNow } from './exit.ts';

/** Exit codes of a process that a signal told to stop: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

type StopSignal = keyof typeof EXIT_CODES;

export interface Interrupt {
  /** True from the moment the signal came: nothing new may be begun. */
  readonly happened: boolean;
  /** Gives the signals back their default meaning. */
  forget(): void;
}

export interface StopSteps {
  /** Leaves files whole. Waited for however long it takes. */
  cleanUp(): Promise<void>;
}

/**
 * Ends the process when a signal asks for it, leaving files whole. Encoders under way are not waited
 * for. A second signal ends the process at once.
 */
export function onInterrupt({ cleanUp }: StopSteps): Interrupt {
  const signals = Object.keys(EXIT_CODES) as StopSignal[];
  let happened = false;
  const handle = (signal: StopSignal) => {
    const code = EXIT_CODES[signal];
    if (happened) exitImmediately(code);
    happened = true;
    void cleanUp().finally(() => exitNow(code));
  };
  for (const signal of signals) process.on(signal, handle);
  return {
    get happened() {
      return happened;
    },
    forget() {
      for (const signal of signals) process.off(signal, handle);
    },
  };
}
