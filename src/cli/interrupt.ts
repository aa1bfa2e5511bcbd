/** What a process that was told to stop by a signal exits with: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

export interface Interrupt {
  /** True from the moment the signal came: nothing new may be begun. */
  readonly happened: boolean;
  /** Gives the signals back their default meaning. */
  forget(): void;
}

/**
 * Ends the process when a signal asks for it, after `cleanUp` has left things whole. A second
 * signal ends it at once.
 */
export function onInterrupt(cleanUp: () => Promise<void>): Interrupt {
  const signals = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[];
  let happened = false;
  const handle = (signal: keyof typeof EXIT_CODES) => {
    if (happened) process.kill(process.pid, 'SIGKILL');
    happened = true;
    void cleanUp().finally(() => process.exit(EXIT_CODES[signal]));
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
