import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import {
  newToken,
  readAdminEndpoint,
  removeAdminEndpoint,
  SUPERVISOR_FILE,
  writeAdminEndpoint,
} from '../../administration/admin-endpoint.ts';
import { checkProcesses, processesWithCharges } from '../../app/processes/share.ts';
import { Supervisor } from '../../app/processes/supervisor.ts';
import { loadStoreSettings } from '../../config/loading/load.ts';
import type { Config } from '../../config/settings/schema.ts';
import { codedFailure, type Failure } from '../../failure.ts';
import { openLog, reopenLog } from '../../http/observability/log.ts';
import { hasBearerToken } from '../../http/request/auth.ts';
import { checkDataFolder } from '../../store/data-folder.ts';
import { diskFiles, makeFolder } from '../../store/files.ts';
import { postJson } from '../../upstream/post-json.ts';
import { type Flags, readFlags } from '../command/command.ts';
import { print } from '../terminal/terminal.ts';
import { restartFlags } from './daemon-flags.ts';

/** Milliseconds for all processes to be replaced. */
const RESTART_TIMEOUT_MS = 3_600_000;

interface SupervisorRun {
  readonly count: number;
  readonly file: string | null;
  readonly stopSignal: Promise<string>;
}

/**
 * Runs several daemons on one port until a signal ends them.
 *
 * @returns the exit code: that of a process which could not start, or 1 if one did not end well
 */
export async function runSupervisor(
  config: Config,
  { count, file, stopSignal }: SupervisorRun,
): Promise<number> {
  const { dataDir, server } = config;
  checkProcesses(config, count);
  await makeFolder(diskFiles, dataDir);
  await checkDataFolder(dataDir);
  const log = await openLog(config.log);
  const unbooked = processesWithCharges(dataDir);
  const supervisor = new Supervisor({ count, unbooked, grace: server.grace, log });
  process.on('SIGHUP', () => {
    reopenLog(log);
    supervisor.reload();
  });
  process.on('SIGUSR2', () => {
    supervisor.restart().catch((err: unknown) => log.error({ err }, 'restart failed'));
  });
  const started = supervisor.start();
  const first = await Promise.race([started, stopSignal.then(() => null)]);
  if (typeof first === 'number') return first;
  if (first !== null) {
    const { url, operationsUrl } = first;
    log.info({ url, operationsUrl, config: file, dataDir, processes: count }, 'ready');
  }
  const close = await offerRestart(dataDir, supervisor, log);
  const signal = await stopSignal;
  log.info({ signal }, 'all processes drain');
  const kill = () => supervisor.kill();
  process.on('SIGTERM', kill).on('SIGINT', kill);
  const isGood = await supervisor.stop();
  close();
  log.info('all processes have stopped');
  return isGood ? 0 : 1;
}

/** Lets users who can read the data folder restart the processes. @returns ends that */
async function offerRestart(
  dataDir: string,
  supervisor: Supervisor,
  log: Logger,
): Promise<() => void> {
  const token = newToken();
  const server = createServer(async (request, response) => {
    const isAllowed = hasBearerToken(request, token) && request.method === 'POST';
    // Pages in a browser on this machine send an origin.
    if (!isAllowed || request.headers.origin !== undefined) return response.writeHead(401).end();
    try {
      return response.end(JSON.stringify({ replaced: await supervisor.restart() }));
    } catch (error) {
      log.error({ err: error }, 'restart failed');
      return response.writeHead(500).end(JSON.stringify({ error: (error as Error).message }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const endpoint = { url: `http://127.0.0.1:${port}`, token, pid: process.pid };
  writeAdminEndpoint(dataDir, endpoint, SUPERVISOR_FILE);
  return () => {
    removeAdminEndpoint(dataDir, SUPERVISOR_FILE);
    server.close();
    server.closeAllConnections();
  };
}

/**
 * Replaces the processes of a running `oriel serve --processes` one by one.
 *
 * @throws Failure `no_supervisor` if none runs on the data folder, `restart_failed`
 */
export async function runRestart(flags: Flags): Promise<number> {
  const { config, data } = readFlags(restartFlags, flags);
  const dataDir =
    data ?? loadStoreSettings({ file: config, env: process.env, cwd: process.cwd() }).dataDir;
  const endpoint = readAdminEndpoint(dataDir, SUPERVISOR_FILE);
  const answer =
    endpoint &&
    (await postJson(
      endpoint.url,
      {},
      {
        headers: { authorization: `Bearer ${endpoint.token}` },
        timeout: RESTART_TIMEOUT_MS,
      },
    ).catch((error: Failure) => {
      if (error.code === 'unreachable' || error.code === 'connect_timeout') return undefined;
      throw error;
    }));
  const { replaced, error } = (answer?.body ?? {}) as { replaced?: number; error?: string };
  if (answer === undefined || answer.status === 401) {
    throw codedFailure(
      'no_supervisor',
      `${dataDir}: expected oriel serve with several processes (server.processes) on this folder, found none`,
    );
  }
  if (replaced === undefined) {
    throw codedFailure('restart_failed', error ?? 'the supervisor ended');
  }
  await print(`replaced ${replaced} ${replaced === 1 ? 'process' : 'processes'}\n`);
  return 0;
}
