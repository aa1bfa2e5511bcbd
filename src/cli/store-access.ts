import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ownActor } from '../administration/actor.ts';
import type { AdminCommand } from '../administration/admin-command.ts';
import { type AdminEndpoint, readAdminEndpoint } from '../administration/admin-endpoint.ts';
import { openAudit, recordRecovery } from '../administration/audit.ts';
import { runToLastPage } from '../administration/pages.ts';
import { runAdminCommand } from '../administration/run-admin-command.ts';
import { Failure, type FailureType } from '../failure.ts';
import type { AuditLog } from '../store/audit/log.ts';
import { checkDataFolder } from '../store/data-folder.ts';
import { openStore, retryWhileLocked, type StoreSettings } from '../store/open.ts';
import type { Recovery } from '../store/options.ts';
import { printStderr } from './terminal.ts';

interface Request {
  /** Arguments as the daemon gets them. `options` are the same, parsed. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly options: unknown;
  readonly dataDir: string;
  readonly store?: StoreSettings | undefined;
  /** The identifiers of all models of the configuration; null where it cannot be read. */
  readonly models: () => readonly string[] | null;
}

interface Outcome {
  readonly result: object;
  readonly warnings: readonly string[];
}

/** Milliseconds for another process to release the store, or to start to answer requests. */
const LOCK_TIMEOUT_MS = 10_000;
const RESPONSE_TIMEOUT_MS = 30_000;

/**
 * Runs an administration command: in this process where it gets the store's lock, else through the
 * daemon that holds the lock.
 *
 * @throws Failure of the command; `service_error` with code `store_locked` where another process keeps
 *   the lock and answers no requests
 */
export async function administer(command: AdminCommand, request: Request): Promise<Outcome> {
  const directory = join(request.dataDir, 'store');
  const isFolder = request.store?.driver !== 'postgres';
  if (isFolder && !command.createsStore && isMissing(directory)) {
    throw new Failure('invalid_request', `${request.dataDir}: there is no store of Oriel`, {
      code: 'no_store',
    });
  }
  await checkDataFolder(request.dataDir);
  return retryWhileLocked(LOCK_TIMEOUT_MS, async () => {
    const local = await runLocally(command, request, directory);
    if (!(local instanceof Failure)) return local;
    // A daemon that starts or stops holds the lock without an endpoint; a command releases it soon.
    const endpoint = readAdminEndpoint(request.dataDir);
    const { input } = request;
    const remote =
      endpoint &&
      (await runToLastPage(command, input, (page) =>
        runInDaemon(endpoint, command, { ...input, ...page }),
      ));
    if (remote) return remote;
    throw local;
  });
}

function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    // For any other error, opening the store reports it.
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** Header with the user who ran the command by sudo. */
const SUDO_USER_HEADER = 'x-oriel-sudo-user';

/** Runs a command in this process; returns the failure where another process holds the lock. */
async function runLocally(
  command: AdminCommand,
  { input, options, models, dataDir, store: settings }: Request,
  directory: string,
): Promise<Outcome | Failure> {
  let store: Awaited<ReturnType<typeof openStore>>;
  const recoveries: Recovery[] = [];
  try {
    store = await openStore({
      directory,
      ...(settings && { settings }),
      isCommand: true,
      onRecovery: (recovery) => {
        recoveries.push(recovery);
        const { file, dropped, keptIn } = recovery;
        printStderr(`oriel: ${file}: moved ${dropped} bytes of a torn write to ${keptIn}`);
      },
    });
  } catch (error) {
    if (error instanceof Failure && error.code === 'store_locked') return error;
    throw error;
  }
  const who = ownActor();
  let log: AuditLog | undefined;
  const audit = async () => {
    log ??= await openAudit(dataDir, who, {
      onFault: (error) => printStderr(`oriel: warning: ${error}`),
    });
    return log;
  };
  try {
    for (const recovery of recoveries) await recordRecovery(await audit(), who, recovery);
    const outcome = await runToLastPage(command, input, async (page) => {
      const own = { ...(options as object), ...page } as never;
      return { result: await runAdminCommand(command, own, { store, audit, who }) };
    });
    const known = command.warn && models();
    return { ...outcome!, warnings: known ? command.warn!(options as never, known) : [] };
  } finally {
    await log?.close();
    await store.close();
  }
}

/** Sends a command to the daemon; undefined where no daemon runs at the endpoint. */
async function runInDaemon(
  endpoint: AdminEndpoint,
  command: AdminCommand,
  input: Request['input'],
): Promise<Outcome | undefined> {
  const { postJson } = await import('../upstream/post-json.ts');
  const { sudoUser } = ownActor();
  const answer = await postJson(`${endpoint.url}/${command.group}/${command.name}`, input, {
    headers: {
      authorization: `Bearer ${endpoint.token}`,
      ...(sudoUser !== null && { [SUDO_USER_HEADER]: sudoUser }),
    },
    timeout: RESPONSE_TIMEOUT_MS,
  }).catch((error: Failure) => {
    if (error.code === 'unreachable' || error.code === 'connect_timeout') return undefined;
    throw new Failure(
      'network_error',
      `the daemon (process ${endpoint.pid}) closed the connection during "${command.group} ${command.name}", which may have been done; check with oriel ${command.group} list`,
      { code: 'outcome_unknown', cause: error },
    );
  });
  // Another program may listen on the port of a dead daemon: it refuses the token, or sends other
  // JSON.
  if (!answer || answer.status === 401) return undefined;
  const {
    result,
    warnings = [],
    error,
  } = (answer.body ?? {}) as Partial<Outcome> & {
    readonly error?: ErrorBody;
  };
  if (answer.status === 200 && result) return { result, warnings };
  if (!error?.type) return undefined;
  throw new Failure(error.type, error.message, {
    status: answer.status,
    originalCode: error.code || null,
    ...(error.param != null && { param: error.param }),
  });
}

interface ErrorBody {
  readonly type: FailureType;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
}
