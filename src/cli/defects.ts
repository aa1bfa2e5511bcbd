import type { Daemon } from '../app/daemon.ts';

/** Errors of the system that say nothing of the state of the process. */
const SHORTAGES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN']);

/**
 * Handles errors that nothing caught, for which Node would end the process with all requests in
 * progress. A rejected promise, or an error that says that the system is short of something, is logged.
 * After any other exception the state of the process is unknown.
 *
 * @returns resolves after such an exception, upon which the daemon is to drain and end; a further one
 *   ends the process at once
 */
export function uncaughtException({ log }: Pick<Daemon, 'log'>): Promise<void> {
  process.on('unhandledRejection', (err) => {
    log.error({ err }, 'a defect, please report it: a promise was rejected that nothing waits for');
  });
  return new Promise((resolve) => {
    let ending = false;
    process.on('uncaughtException', (err: NodeJS.ErrnoException) => {
      if (SHORTAGES.has(err.code ?? '')) {
        log.error({ err }, 'the system is short of descriptors or memory');
        return;
      }
      log.fatal({ err }, 'a defect, please report it: the daemon ends');
      if (ending) process.exit(1);
      ending = true;
      resolve();
    });
  });
}
