import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ownActor } from '../../administration/actor.ts';
import { type AdminCommand, runAdminCommand } from '../../administration/admin-command.ts';
import { type AdminEndpoint, readAdminEndpoint } from '../../administration/admin-endpoint.ts';
import type { CatalogContext } from '../../administration/catalog-context.ts';
import { runToLastPage } from '../../administration/pages.ts';
import { codedFailure, Failure } from '../../failure.ts';
import type { Actor } from '../../store/audit/entry.ts';
import { type AuditLog, openAudit, recordRecovery } from '../../store/audit/log.ts';
import { checkDataFolder, checkStorePresent } from '../../store/data-folder.ts';
import {
  openStore,
  placeOf,
  retryWhileLocked,
  type StoreSettings,
} from '../../store/drivers/open.ts';
import type { Recovery } from '../../store/options.ts';
import { printStderr } from '../terminal/terminal.ts';

export interface AdminRequest {
  /** Arguments as the daemon gets them. `options` are the same, parsed. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly options: unknown;
  readonly dataDir: string;
  /** Whether `dataDir` is that of the configuration. */
  readonly isOwnFolder: boolean;
  readonly store?: StoreSettings | undefined;
  /** The identifiers of all models of the configuration; null if it cannot be read. */
  readonly models: readonly string[] | null;
  readonly catalog: CatalogContext;
}

interface Outcome {
  readonly result: object;
  readonly warnings: readonly string[];
  /** Whether the command made the data folder. */
  readonly isNew?: boolean;
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
export async function administer(command: AdminCommand, request: AdminRequest): Promise<Outcome> {
  const { dataDir, store } = request;
  const directory = join(dataDir, 'store');
  const has = (name: string) => !isMissing(join(directory, name));
  const isFolder = store?.driver !== 'postgres';
  const isNew = isFolder && isMissing(directory);
  if (isNew && !command.createsStore) throw noStore(`${dataDir}: there is no store of Oriel`);
  await checkDataFolder(dataDir);
  // Of a folder, and of a node over a database.
  const [isStore, isNode] = [has('store.json'), has('node')];
  if (isFolder && isNode && !isStore) {
    const remote = await runRemotely(command, request);
    if (remote) return remote;
    throw noStore(
      `${dataDir}: belongs to a node over PostgreSQL, which does not run; name its configuration by --config`,
    );
  }
  if (isFolder) await checkStorePresent(dataDir, false);
  if (!isFolder && isStore && !isNode && !request.isOwnFolder) throw twoStores(dataDir, store);
  const who = ownActor();
  return retryWhileLocked(LOCK_TIMEOUT_MS, async () => {
    const local = await asOwner(dataDir, () => runLocally(command, request, { directory, who }));
    if (!(local instanceof Failure)) return { ...local, isNew };
    // A daemon that starts or stops holds the lock without an endpoint; a command releases it soon.
    const remote = await runRemotely(command, request);
    if (remote) return remote;
    throw local;
  });
}

/** Runs work of root as the user of a data folder, or of its store, whose daemon could not open files of root. */
async function asOwner<Result>(dataDir: string, work: () => Promise<Result>): Promise<Result> {
  const parts = ['store/store.json', 'store', '.'].map((name) => join(dataDir, name));
  const found = parts.find((path) => !isMissing(path));
  if (process.getuid?.() !== 0 || found === undefined) return work();
  const { uid, gid } = statSync(found);
  try {
    process.setegid!(gid);
    process.seteuid!(uid);
  } catch {
    // A container may take this right from root.
    return work();
  }
  try {
    return await work();
  } finally {
    process.seteuid!(0);
    process.setegid!(0);
  }
}

export const noStore = (message: string): Failure => codedFailure('no_store', message);

function twoStores(dataDir: string, store: StoreSettings): Failure {
  return codedFailure(
    'two_stores',
    `${dataDir}: has a store of its own, and the configuration has ${placeOf(store)}; leave out --data for the database, or name a configuration without store by --config for the folder`,
  );
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

/** Header with the database of the command's configuration: the daemon may have another. */
const STORE_HEADER = 'x-oriel-store';

/** Runs a command in this process; returns the failure where another process holds the lock. */
async function runLocally(
  command: AdminCommand,
  { input, options, models, catalog, dataDir, store: settings }: AdminRequest,
  { directory, who }: { readonly directory: string; readonly who: Actor },
): Promise<Outcome | Failure> {
  let store: Awaited<ReturnType<typeof openStore>>;
  const recoveries: Recovery[] = [];
  try {
    store = await openStore({
      // A database needs no folder; that of a node is locked, so that the command and its daemon do not both write.
      directory: settings?.driver === 'postgres' && isMissing(directory) ? '' : directory,
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
      return { result: await runAdminCommand(command, own, { store, audit, catalog, who }) };
    });
    if (models === null || command.warn === undefined) return { ...outcome!, warnings: [] };
    const stored = await store.listConfigEntries();
    const own = stored.filter(({ kind }) => kind === 'model').map(({ name }) => name);
    return { ...outcome!, warnings: command.warn(options as never, [...models, ...own]) };
  } finally {
    await log?.close();
    await store.close();
  }
}

/** Runs a command in the daemon of the folder; undefined where none runs at its endpoint. */
export async function runRemotely(
  command: AdminCommand,
  request: AdminRequest,
): Promise<(Outcome & { readonly pid: number }) | undefined> {
  const endpoint = readAdminEndpoint(request.dataDir);
  const { input, store } = request;
  if (!endpoint) return undefined;
  const outcome = await runToLastPage(command, input, (page) =>
    runInDaemon(endpoint, command, { input: { ...input, ...page }, store }),
  );
  return outcome && { ...outcome, pid: endpoint.pid };
}

/** Sends a command to the daemon; undefined where no daemon runs at the endpoint. */
async function runInDaemon(
  endpoint: AdminEndpoint,
  command: AdminCommand,
  { input, store }: Pick<AdminRequest, 'input' | 'store'>,
): Promise<Outcome | undefined> {
  const { postJson } = await import('../../upstream/post-json.ts');
  const { sudoUser } = ownActor();
  const answer = await postJson(`${endpoint.url}/${command.group}/${command.name}`, input, {
    headers: {
      authorization: `Bearer ${endpoint.token}`,
      ...(sudoUser !== null && { [SUDO_USER_HEADER]: sudoUser }),
      ...(store?.driver === 'postgres' && { [STORE_HEADER]: placeOf(store) }),
    },
    timeout: RESPONSE_TIMEOUT_MS,
  }).catch((error: Failure) => {
    if (error.code === 'unreachable' || error.code === 'connect_timeout') return undefined;
    throw codedFailure(
      'outcome_unknown',
      `the daemon (process ${endpoint.pid}) closed the connection during "${command.group} ${command.name}", which may have been done; check with oriel ${command.group} list`,
      { cause: error },
    );
  });
  // Another program may listen on the port of a dead daemon: it refuses the token, or sends other
  // JSON.
  if (!answer || answer.status === 401) return undefined;
  const { result, warnings = [], error } = (answer.body ?? {}) as Partial<Outcome & Refusal>;
  if (answer.status === 200 && result) return { result, warnings };
  if (!error?.type) return undefined;
  throw new Failure(error.type, error.message, {
    status: answer.status,
    originalCode: error.code || null,
    ...(error.param != null && { param: error.param }),
  });
}

interface Refusal {
  readonly error: Pick<Failure, 'type' | 'message' | 'param' | 'code'>;
}
