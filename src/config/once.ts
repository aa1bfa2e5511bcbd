/** A setting that the daemon reads only at start; it reads all others again on SIGHUP. */
export const ONCE = { restart: true } as const;
