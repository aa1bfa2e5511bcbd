import type { Daemon } from '../../app/daemon.ts';

/** System errors after which the state of the process is known. */
const RESOURCE_ERRORS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAGAIN']);

/**
 * Handles uncaught errors, at which Node would end the process with all requests in progress.
 * Unhandled rejections and shortages of descriptors or memory are logged. After any other exception
 * the state of the process is unknown.
 *
 * @returns resolves after such an exception, after which the daemon drains and ends. A further
 *   exception ends the process at once.
 */
export function uncaughtException({ log }: Pick<Daemon, 'log'>): Promise<void> {
  process.on('unhandledRejection', (err) => {
    log.error({ err }, 'a defect, please report it: a promise was rejected that nothing waits for');
  });
  return new Promise((resolve) => {
    let ending = false;
    process.on('uncaughtException', (err: NodeJS.ErrnoException) => {
      if (RESOURCE_ERRORS.has(err.code ?? '')) {
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
