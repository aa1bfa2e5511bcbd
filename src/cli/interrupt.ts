/** What a process that was told to stop by a signal exits with: 128 and the signal's number. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

type StopSignal = keyof typeof EXIT_CODES;

/** Milliseconds that native code under way is waited for, since it keeps a process from exiting. */
const GRACE = 5000;

export interface Interrupt {
  /** True from the moment the signal came: nothing new may be begun. */
  readonly happened: boolean;
  /** Gives the signals back their default meaning. */
  forget(): void;
}

export interface StopSteps {
  /** Leaves files whole. Waited for however long it takes. */
  cleanUp(): Promise<void>;
  /** Lets go of threads; resolves when no native code is left running. */
  release(): Promise<void>;
}

/**
 * Ends the process when a signal asks for it, leaving things whole. Where an encoder is still busy
 * after the grace, or a second signal comes, the process dies by that signal, at once: exiting
 * would wait for the encoder, and shells report the same 130 for both.
 */
export function onInterrupt({ cleanUp, release }: StopSteps): Interrupt {
  const signals = Object.keys(EXIT_CODES) as StopSignal[];
  let happened = false;
  const forget = () => {
    for (const signal of signals) process.off(signal, handle);
  };
  const die = (signal: StopSignal) => {
    forget();
    process.kill(process.pid, signal);
  };
  const handle = (signal: StopSignal) => {
    if (happened) return die(signal);
    happened = true;
    void cleanUp()
      .then(() => {
        setTimeout(die, GRACE, signal);
        return release();
      })
      .finally(() => process.exit(EXIT_CODES[signal]));
  };
  for (const signal of signals) process.on(signal, handle);
  return {
    get happened() {
      return happened;
    },
    forget,
  };
}
