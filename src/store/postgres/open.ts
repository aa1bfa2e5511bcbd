import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../../failure.ts';
import { diskFiles, makeFolder } from '../files.ts';
import { lockFolder } from '../lock/lock.ts';
import type { Lock } from '../lock/pid-lock.ts';
import type { StoreOptions } from '../options.ts';
import { Bank } from './bank.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { PostgresStore } from './driver.ts';
import { unavailable } from './errors.ts';
import type { ScopedPayer } from './escrow/bank.ts';
import { ChargeLog, readLeftoverCharges } from './escrow/charge-log.ts';
import { Escrows } from './escrow/escrows.ts';
import { Events } from './events.ts';
import { KeyCache } from './key-cache.ts';
import { migrate } from './migrations/migrate.ts';
import { NodeLease } from './nodes.ts';
import { foldEscrows } from './operations/escrows.ts';
import { Reader } from './reader.ts';
import { Transactions } from './transactions/transactions.ts';

export interface PostgresOptions extends StoreOptions, DatabaseOptions {
  /** Connection for notifications, where `url` leads to a pooler in transaction mode; `url` by default. */
  readonly listenUrl?: string | undefined;
  /** Whether one command runs: it makes no charges, and a daemon may use the folder. */
  readonly isCommand?: boolean;
}

/**
 * Opens the store of a schema, which other processes may use meanwhile. `directory` holds the charges of this
 * process that are not in the database yet: no other process may use it.
 *
 * @throws Failure service_error: `store_unavailable`, `store_newer`
 */
export async function openPostgresStore(options: PostgresOptions): Promise<PostgresStore> {
  const { url, poolSize, schema, isCommand = false } = options;
  const { directory, onLockFallback = () => {} } = options;
  const database = new Database({ url, poolSize, schema });
  let lock: Lock | undefined;
  try {
    if (!isCommand) {
      await makeFolder(diskFiles, directory);
      lock = await lockFolder(diskFiles, directory, onLockFallback);
    }
    await migrate(database);
    return await openOn(database, { ...options, release: async () => lock?.release() });
  } catch (error) {
    await database.close();
    await lock?.release();
    throw error instanceof Failure ? error : unavailable(error);
  }
}

interface OpenParts extends PostgresOptions {
  /** Ends the use of the folder. */
  readonly release: () => Promise<void>;
}

async function openOn(database: Database, options: OpenParts): Promise<PostgresStore> {
  const { directory, now = Date.now, onFault = () => {}, onCommit, onFailure } = options;
  const { node = { name: `${hostname()} ${process.pid}`, version: '' } } = options;
  const transactions = new Transactions({
    database,
    onCommit: (commit) => onCommit?.({ ...commit, bytes: 0 }),
    ...(onFailure && { onFailure }),
  });
  let store: PostgresStore | undefined;
  const lease = new NodeLease({
    database,
    node,
    onLost: () => store?.leaseLost(),
    onHeartbeat: async () => store?.tidy(),
    onFault,
  });
  // A command makes no charges and claims nothing: it is no node, and writes no files.
  const folder = options.isCommand ? tmpdir() : join(directory, 'charges');
  if (!options.isCommand) {
    await lease.open();
    const leftover = await readLeftoverCharges(folder);
    const onMissing = ({ accountId }: ScopedPayer) =>
      onFault(new Error(`charges of ${accountId} are left out: the database has no such account`));
    for (const batch of leftover.batches) await transactions.run(foldEscrows(batch, onMissing));
    await leftover.remove();
  }
  const log = await ChargeLog.open({ folder, node: lease.id, onFault });
  const events = new Events({
    database,
    listenUrl: options.listenUrl ?? options.url,
    onEvent: (event) => store?.receive(event),
    onGap: () => keys.invalidate(),
  });
  const bank = new Bank({
    database,
    transactions,
    lease,
    now,
    send: (event) => events.send(event),
  });
  const escrows = new Escrows({
    ...{ bank, log, node: lease.id, now, onFault },
    isLeased: () => lease.isValid,
  });
  const reader = new Reader(
    database,
    () => lease.id,
    () => escrows.usedByPayer(),
  );
  const keys = new KeyCache({ load: (hashes) => reader.loadKeys(hashes) });
  store = new PostgresStore({
    ...{ database, transactions, reader, lease, events, bank, keys, escrows, log },
    now,
    onFault,
    release: options.release,
  });
  await events.open();
  await store.tidy();
  return store;
}
