import { Counter, Gauge, type Registry } from 'prom-client';
import type { SharedPool } from '../../operations/pool/pool.ts';
import type { Routing } from '../../routing/routing.ts';
import { toCredits } from '../../store/credits.ts';
import type { DatabaseHealth, JournalHealth } from '../../store/health.ts';
import type { Store } from '../../store/store.ts';
import type { TextThreads } from '../../threads/text-threads.ts';
import { sumOf } from '../../threads/threads.ts';

// Metrics of states, which are read at each scrape.

type Reading = number | Promise<number>;

export function addGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => Reading,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    async collect() {
      this.set(await read());
    },
  });
}

export function addPoolMetrics(
  registry: Registry,
  pool: SharedPool,
  textThreads: TextThreads,
): void {
  const statistics = () => sumOf([pool.statistics(), textThreads.statistics()]);
  const gauge = (name: string, help: string, read: () => number) =>
    addGauge(registry, name, help, read);
  gauge('oriel_pool_threads', 'Threads and processes of the image pool', () => pool.size);
  gauge('oriel_pool_jobs_running', 'Image jobs that are running', () => statistics().running);
  gauge('oriel_pool_jobs_waiting', 'Image jobs that wait', () => statistics().waiting);
  const registers = [registry];
  const labelNames = ['operation'] as const;
  new Counter({
    name: 'oriel_pool_jobs_total',
    help: 'Finished image jobs by operation',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [operation, { jobs }] of statistics().finished) {
        this.inc({ operation }, jobs);
      }
    },
  });
  new Counter({
    name: 'oriel_pool_job_seconds_total',
    help: 'Time spent on image jobs by operation',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const [operation, { milliseconds }] of statistics().finished) {
        this.inc({ operation }, milliseconds / 1000);
      }
    },
  });
}

export function addStoreMetrics(registry: Registry, store: Store): void {
  const gauge = (name: string, help: string, read: () => Reading) =>
    addGauge(registry, name, help, read);
  gauge('oriel_accounts', 'Accounts', async () => (await store.statistics()).accounts);
  gauge('oriel_nodes_alive', 'Living daemons on the store', () => store.nodes.alive());
  gauge(
    'oriel_node_leader',
    '1 if this node does the work that one node does for all, else 0',
    () => (store.nodes.isLeader() ? 1 : 0),
  );
  const lostLeases = new Counter({
    name: 'oriel_lost_leases_total',
    help: 'Times that this node could not extend its lease, so that others took over its tasks',
    registers: [registry],
  });
  store.watch(({ kind }) => {
    if (kind === 'lease_lost') lostLeases.inc();
  });
  gauge('oriel_store_writable', '1 while the store can be written, else 0', () =>
    store.health().fault === null ? 1 : 0,
  );
  const journal = (name: string, help: string, read: (journal: JournalHealth) => number) => {
    // A driver has journals or none for as long as it is open.
    if (store.health().journal) gauge(name, help, () => read(store.health().journal!));
  };
  journal(
    'oriel_store_checkpoint_failing',
    '1 if the last checkpoint failed, else 0',
    ({ checkpointFault }) => (checkpointFault === null ? 0 : 1),
  );
  journal(
    'oriel_store_journals',
    'Journal files that the next start replays',
    ({ journals }) => journals,
  );
  journal('oriel_store_journal_bytes', 'Size of these journal files', ({ bytes }) => bytes);
  const database = (name: string, help: string, read: (health: DatabaseHealth) => number) => {
    if (store.health().database) gauge(name, help, () => read(store.health().database!));
  };
  database(
    'oriel_database_connections_busy',
    'Connections to the database in use',
    ({ busyConnections }) => busyConnections,
  );
  database(
    'oriel_database_calls_waiting',
    'Calls that wait for a connection to the database',
    ({ waitingCalls }) => waitingCalls,
  );
  database(
    'oriel_escrow_idle_credits',
    'Credits that this node has drawn in advance and no request uses',
    ({ idleEscrow }) => toCredits(idleEscrow),
  );
  gauge('oriel_store_pending_charges', 'Requests whose charges are not booked yet', () => {
    return store.health().pendingCharges;
  });
  new Gauge({
    name: 'oriel_tasks',
    help: 'Tasks in the store by state',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      for (const [status, count] of Object.entries((await store.statistics()).tasks)) {
        this.set({ status }, count);
      }
    },
  });
  new Gauge({
    name: 'oriel_credits',
    help: 'Credits of all accounts by kind',
    labelNames: ['kind'],
    registers: [registry],
    async collect() {
      const { granted, reserved, spent } = (await store.statistics()).credits;
      this.set({ kind: 'granted' }, toCredits(granted));
      this.set({ kind: 'reserved' }, toCredits(reserved));
      this.set({ kind: 'spent' }, toCredits(spent));
      this.set({ kind: 'available' }, toCredits(granted - reserved - spent));
    },
  });
}

/** Adds metrics of routes and keys that rest. */
export function addRoutingMetrics(registry: Registry, routings: readonly Routing[]): void {
  const registers = [registry];
  const labelNames = ['provider'] as const;
  new Gauge({
    name: 'oriel_routes_resting',
    help: 'Routes that are skipped now, by provider',
    labelNames,
    registers,
    collect() {
      this.reset();
      for (const routing of routings) {
        for (const { provider } of routing.restingRoutes()) this.inc({ provider });
      }
    },
  });
  new Gauge({
    name: 'oriel_provider_keys_resting',
    help: 'Keys that are not used now, or after others, on one route at least, by provider',
    labelNames,
    registers,
    collect() {
      this.reset();
      const keys = new Map<string, string>();
      for (const routing of routings) {
        for (const { provider, fingerprint } of routing.restingKeys()) {
          keys.set(`${fingerprint} ${provider}`, provider);
        }
      }
      for (const provider of keys.values()) this.inc({ provider });
    },
  });
}
