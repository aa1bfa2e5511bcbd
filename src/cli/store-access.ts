import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ownActor } from '../administration/actor.ts';
import type { AdminCommand } from '../administration/admin-command.ts';
import { type AdminEndpoint, readAdminEndpoint } from '../administration/admin-endpoint.ts';
import { openAudit, recordRecovery } from '../administration/audit.ts';
import { runAdminCommand } from '../administration/run-admin-command.ts';
import { Failure, type FailureType } from '../failure.ts';
import type { AuditLog } from '../store/audit/log.ts';
import { checkDataFolder } from '../store/data-folder.ts';
import { openStore, retryWhileLocked } from '../store/open.ts';
import type { Recovery } from '../store/options.ts';
import { printStderr } from './terminal.ts';

interface Request {
  /** What the daemon is sent, and `options` what its schema makes of it. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly options: unknown;
  readonly dataDir: string;
  /** The identifiers of all models of the configuration; null where it cannot be read. */
  readonly models: () => readonly string[] | null;
}

/** What came of it. */
interface Done {
  readonly result: object;
  readonly warnings: readonly string[];
}

/** Milliseconds for another process to release the store, or to start to answer requests. */
const LOCK_TIMEOUT_MS = 10_000;
/** Milliseconds for one answer of the daemon. */
const ANSWER = 30_000;

/**
 * Does something to the store: in this process where no other has the store, else through the daemon
 * that has it. Two processes never have one store.
 *
 * @throws Failure whatever the verb throws; `service_error` with code `store_locked` where another
 *   process keeps the store and takes no requests
 */
export async function administer(verb: AdminCommand, request: Request): Promise<Done> {
  const directory = join(request.dataDir, 'store');
  if (!verb.createsStore && isMissing(directory)) {
    throw new Failure('invalid_request', `${request.dataDir}: there is no store of Oriel`, {
      code: 'no_store',
    });
  }
  await checkDataFolder(request.dataDir);
  return retryWhileLocked(LOCK_TIMEOUT_MS, async () => {
    const locked = await attempt(verb, request, directory);
    if (!(locked instanceof Failure)) return locked;
    // A daemon that starts or ends is between lock and door; a command lets go at once.
    const door = readAdminEndpoint(request.dataDir);
    const asked = door && (await ask(door, verb, request));
    if (asked) return asked;
    throw locked;
  });
}

function isMissing(path: string): boolean {
  try {
    statSync(path);
    return false;
  } catch (error) {
    // Where something is there that may not be looked at, whoever opens it will say so.
    return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

/** The header with the user on whose behalf sudo runs a command. */
const SUDO_USER = 'x-oriel-sudo-user';

/** Does it here. Gives the failure to open the store where another process has it. */
async function attempt(
  verb: AdminCommand,
  { options, models, dataDir }: Request,
  directory: string,
): Promise<Done | Failure> {
  let store: Awaited<ReturnType<typeof openStore>>;
  const recoveries: Recovery[] = [];
  try {
    store = await openStore({
      directory,
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
    const result = await runAdminCommand(verb, options as never, { store, audit, who });
    const known = verb.warn && models();
    return { result, warnings: known ? verb.warn!(options as never, known) : [] };
  } finally {
    await log?.close();
    await store.close();
  }
}

/** Has the daemon do it. Undefined where nothing was done, for that daemon is not there. */
async function ask(
  door: AdminEndpoint,
  verb: AdminCommand,
  { input }: Request,
): Promise<Done | undefined> {
  const { postJson } = await import('../upstream/post-json.ts');
  const { sudoUser } = ownActor();
  const answer = await postJson(`${door.url}/${verb.group}/${verb.name}`, input, {
    headers: {
      authorization: `Bearer ${door.token}`,
      ...(sudoUser !== null && { [SUDO_USER]: sudoUser }),
    },
    timeout: ANSWER,
  }).catch((error: Failure) => {
    if (error.code === 'unreachable' || error.code === 'connect_timeout') return undefined;
    throw new Failure(
      'network_error',
      `the daemon (process ${door.pid}) went away while it was asked for "${verb.group} ${verb.name}"; oriel ${verb.group} list tells whether it did it`,
      { code: 'outcome_unknown', cause: error },
    );
  });
  // Another program may listen where a daemon that died did: it answers otherwise, or refuses the
  // token.
  if (!answer || answer.status === 401) return undefined;
  const {
    result,
    warnings = [],
    error,
  } = (answer.body ?? {}) as Partial<Done> & {
    readonly error?: ErrorBody;
  };
  if (answer.status === 200 && result) return { result, warnings };
  if (!error?.type) return undefined;
  throw new Failure(error.type, error.message, {
    status: answer.status,
    originalCode: error.code || null,
  });
}

interface ErrorBody {
  readonly type: FailureType;
  readonly message: string;
  readonly code: string | null;
}
