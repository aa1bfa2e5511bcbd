const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface Interrupt {
  /** True from the moment the signal came: nothing new may be begun. */
  readonly happened: boolean;
  /** Gives the signals back their default meaning. */
  forget(): void;
}

/**
 * Ends the process when a signal asks for it, after `cleanUp` has left things whole. A second
 * signal ends it at once.
 *
 * It ends by the signal itself, which shells report as 130 for ^C and which also stops the loop or
 * script that runs it. Exiting would wait for encoders in native code, which may take minutes.
 */
export function onInterrupt(cleanUp: () => Promise<void>): Interrupt {
  let happened = false;
  const forget = () => {
    for (const signal of SIGNALS) process.off(signal, handle);
  };
  const handle = (signal: (typeof SIGNALS)[number]) => {
    const end = () => {
      forget();
      process.kill(process.pid, signal);
    };
    if (happened) return end();
    happened = true;
    void cleanUp().finally(end);
  };
  for (const signal of SIGNALS) process.on(signal, handle);
  return {
    get happened() {
      return happened;
    },
    forget,
  };
}
