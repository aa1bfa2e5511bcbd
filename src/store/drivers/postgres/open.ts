import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { rethrowAfter } from '../../../flow.ts';
import { BudgetScopes, type ScopedPayer } from '../../budgets.ts';
import { closed } from '../../errors.ts';
import { diskFiles, FILE_MODE, makeFolder, missingAs } from '../../files.ts';
import { type Lock, lockFolder } from '../../lock.ts';
import type { StoreOptions } from '../../options.ts';
import type { Store } from '../../store.ts';
import { Bank } from './bank.ts';
import { Database, type DatabaseOptions } from './database/database.ts';
import { isAway, notOpened, unavailable } from './database/errors.ts';
import { type NodeWork, postgresStore } from './driver.ts';
import { ChargeLog, readLeftoverCharges } from './escrow/charge-log.ts';
import { Escrows } from './escrow/escrows.ts';
import { Events } from './events.ts';
import { migrate } from './migrations/migrate.ts';
import { NodeLease } from './nodes.ts';
import { foldEscrows } from './operations/escrows.ts';
import { loadKeys } from './readers/account-queries.ts';
import { Balances } from './readers/balances.ts';
import { KeyCache } from './readers/key-cache.ts';
import { Transactions } from './transactions/transactions.ts';

export interface PostgresOptions extends StoreOptions, DatabaseOptions {
  /** Connection for notifications, where `url` leads to a pooler in transaction mode; `url` by default. */
  readonly listenUrl?: string | undefined;
  /** Whether one command runs: it is no node, and makes no charges. */
  readonly isCommand?: boolean;
}

/**
 * Opens the store of a schema, which other processes may use meanwhile. `directory` holds the charges of this
 * process that are not in the database yet: no other process may use it. A command may have none.
 *
 * @throws Failure service_error: `store_unavailable`, `store_newer`
 */
export async function openPostgresStore({
  onLockFallback = () => {},
  ...given
}: PostgresOptions): Promise<Store> {
  const { directory, poolSize, schema, starting, onWait } = given;
  const url = verified(given.url);
  const listenUrl = given.listenUrl === undefined ? url : verified(given.listenUrl);
  let lock: Lock | undefined;
  if (directory !== '') {
    await makeFolder(diskFiles, directory);
    lock = await lockFolder(diskFiles, directory, onLockFallback);
  }
  const database = new Database({ url, poolSize, schema, starting, onWait });
  try {
    await migrate(database);
    const release = async () => lock?.release();
    return await openOn(database, { ...given, listenUrl, release });
  } catch (error) {
    await database.close();
    await lock?.release();
    throw notOpened(error, url);
  }
}

/** The URL with the name of what `pg` 8 does for it: these modes verify certificates, with a warning of each process. */
export function verified(url: string): string {
  return url.includes('uselibpqcompat=')
    ? url
    : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full');
}

interface OpenParts extends PostgresOptions {
  readonly listenUrl: string;
  /** Ends the use of the folder. */
  readonly release: () => Promise<void>;
}

async function openOn(database: Database, options: OpenParts): Promise<Store> {
  const { directory, onCommit, onFailure } = options;
  const onFault = (error: unknown) => options.onFault?.(isAway(error) ? unavailable(error) : error);
  const { node = { name: `${hostname()} ${process.pid}`, version: '' } } = options;
  const transactions = new Transactions({
    database,
    tagSets: options.tagSets,
    onCommit: (commit) => onCommit?.({ ...commit, bytes: 0 }),
    ...(onFailure && { onFailure }),
  });
  let running: NodeWork | undefined;
  const closing = new AbortController();
  const idFile = join(directory, 'node');
  const lease = new NodeLease({
    database,
    node,
    onLost: () => running?.leaseLost(),
    onEscrowLost: () => running?.escrowLost(),
    onIds(ids) {
      try {
        writeFileSync(idFile, ids.join('\n'), { mode: FILE_MODE });
      } catch (error) {
        // Without the file, what this process holds is free only after the end of its leases.
        onFault(error);
      }
    },
    onHeartbeat: async () => running?.tidy(),
    onClockSkew: options.onClockSkew ?? (() => {}),
    onFault,
  });
  // A command makes no charges and claims nothing, so that it writes no files. Charges that a daemon left belong to
  // the database of that daemon, which books them at its next start.
  const isNode = !options.isCommand;
  const now = options.now ?? (() => lease.now);
  const folder = isNode ? join(directory, 'charges') : tmpdir();
  const former = isNode ? await formerIds(idFile) : [];
  if (isNode) {
    await lease.open();
    const leftover = await readLeftoverCharges(folder);
    let isBooked = true;
    // After the restore of a backup, or with another database than the folder's.
    const onMissing = ({ accountId }: ScopedPayer) => {
      isBooked = false;
      onFault(
        new Error(
          `charges of ${accountId} are left out: the database has no such account; ${folder} keeps them as *.unbooked`,
        ),
      );
    };
    for (const batch of leftover.batches) await transactions.run(foldEscrows(batch, onMissing));
    await (isBooked ? leftover.remove() : leftover.setAside());
    // The lock of the folder shows that the former process has ended: what it held is free now.
    await database.query('DELETE FROM $schema.nodes WHERE id = ANY($1::text[])', [former]);
  }
  const log = await ChargeLog.open({ folder, node: lease.escrowId, onFault });
  const events = new Events({
    database,
    listenUrl: options.listenUrl,
    onEvent: (event) => running?.receive(event),
    onGap: () => {
      keys.invalidate();
      running?.receive({ kind: 'config' });
    },
  });
  const bank = new Bank({
    database,
    transactions,
    lease,
    now,
    send: (event) => events.send(event),
  });
  const escrows = new Escrows({
    ...{ bank, log, node: lease.escrowId, now, onFault },
    isLeased: () => lease.isEscrowValid,
    outage: () => lease.failure,
  });
  const bookCharges = async () => {
    if (closing.signal.aborted) throw closed();
    await escrows.flush();
  };
  const balances = new Balances({
    database,
    node: () => lease.escrowId,
    ownUse: () => escrows.usedByPayer(),
  });
  const keys = new KeyCache({ load: (hashes) => loadKeys(database, hashes) });
  const { store, work } = postgresStore({
    ...{ database, transactions, balances, lease, events, bank, keys, escrows, log },
    ...{ now, onFault, bookCharges, closing, release: options.release },
    onCharge: options.onCharge,
    scopes: new BudgetScopes(),
  });
  running = work;
  await events.open();
  // The connection of events would keep the process of a command running.
  await running.tidy().catch(rethrowAfter(() => events.close()));
  return store;
}

/** Identifiers of the node that used the folder before; empty for none. */
async function formerIds(file: string): Promise<readonly string[]> {
  const text = await readFile(file, 'utf8').catch(missingAs(null));
  return text === null ? [] : text.split('\n');
}
