import type { SharedPool } from '../../operations/pool/pool.ts';
import type { Routing } from '../../routing/routing.ts';
import { toCredits } from '../../store/credits.ts';
import type { DatabaseHealth, JournalHealth } from '../../store/health.ts';
import type { Store } from '../../store/store.ts';
import type { TextThreads } from '../../threads/text-threads.ts';
import { sumOf } from '../../threads/threads.ts';
import type { MetricRegistry } from './metric-registry.ts';

// Metrics of states, which are read at each scrape.

export function addPoolMetrics(
  registry: MetricRegistry,
  pool: SharedPool,
  textThreads: TextThreads,
): void {
  const statistics = () => sumOf([pool.statistics(), textThreads.statistics()]);
  registry.gauge('oriel_pool_threads', 'Threads and processes of the image pool', () => pool.size);
  registry.gauge(
    'oriel_pool_jobs_running',
    'Image jobs that are running',
    () => statistics().running,
  );
  registry.gauge('oriel_pool_jobs_waiting', 'Image jobs that wait', () => statistics().waiting);
  registry.counters('operation', 'oriel_pool_jobs_total', 'Finished image jobs by operation', () =>
    Array.from(statistics().finished, ([operation, { jobs }]) => [operation, jobs]),
  );
  registry.counters(
    'operation',
    'oriel_pool_job_seconds_total',
    'Time spent on image jobs by operation',
    () =>
      Array.from(statistics().finished, ([operation, { milliseconds }]) => [
        operation,
        milliseconds / 1000,
      ]),
  );
}

export function addStoreMetrics(registry: MetricRegistry, store: Store): void {
  // Each process on the port reads the same of the store.
  const accounts = async () => (await store.statistics()).accounts;
  registry.gauge('oriel_accounts', 'Accounts', accounts, 'max');
  const alive = () => store.nodes.alive();
  registry.gauge('oriel_nodes_alive', 'Living daemons on the store', alive, 'max');
  registry.gauge(
    'oriel_node_leader',
    '1 if this node does the work that one node does for all, else 0',
    () => (store.nodes.isLeader() ? 1 : 0),
  );
  const lostLeases = registry.counter(
    'oriel_lost_leases_total',
    'Times that this node could not extend its lease, so that others took over its tasks',
  );
  store.watch(({ kind }) => {
    if (kind === 'lease_lost') lostLeases.inc();
  });
  const writable = () => (store.health().fault === null ? 1 : 0);
  registry.gauge(
    'oriel_store_writable',
    '1 while the store can be written, else 0',
    writable,
    'min',
  );
  registry.gauge(
    'oriel_store_pending_charges',
    'Requests whose charges are not booked yet',
    () => store.health().pendingCharges,
  );
  const tasks = async () => Object.entries((await store.statistics()).tasks);
  registry.gauges('status', 'oriel_tasks', 'Tasks in the store by state', tasks, 'max');
  const credits = async () => {
    const { granted, reserved, spent } = (await store.statistics()).credits;
    const all = { granted, reserved, spent, available: granted - reserved - spent };
    return Object.entries(all).map(([kind, sum]) => [kind, toCredits(sum)] as const);
  };
  registry.gauges('kind', 'oriel_credits', 'Credits of all accounts by kind', credits, 'max');
  // A driver has journals or none, and a database or none, for as long as it is open.
  if (store.health().journal) addJournalMetrics(registry, () => store.health().journal!);
  if (store.health().database) addDatabaseMetrics(registry, () => store.health().database!);
}

function addJournalMetrics(registry: MetricRegistry, journal: () => JournalHealth): void {
  registry.gauge('oriel_store_checkpoint_failing', '1 if the last checkpoint failed, else 0', () =>
    journal().checkpointFault === null ? 0 : 1,
  );
  registry.gauge(
    'oriel_store_journals',
    'Journal files that the next start replays',
    () => journal().journals,
  );
  registry.gauge('oriel_store_journal_bytes', 'Size of these journal files', () => journal().bytes);
}

function addDatabaseMetrics(registry: MetricRegistry, database: () => DatabaseHealth): void {
  registry.gauge(
    'oriel_database_connections_busy',
    'Connections to the database in use',
    () => database().busyConnections,
  );
  registry.gauge(
    'oriel_database_calls_waiting',
    'Calls that wait for a connection to the database',
    () => database().waitingCalls,
  );
  registry.gauge(
    'oriel_escrow_idle_credits',
    'Credits that this node has drawn in advance and no request uses',
    () => toCredits(database().idleEscrow),
  );
}

/** Adds metrics of routes and keys that rest. */
export function addRoutingMetrics(registry: MetricRegistry, routings: readonly Routing[]): void {
  registry.gauges(
    'provider',
    'oriel_routes_resting',
    'Routes that are cooling down, by provider',
    () => routings.flatMap((one) => Array.from(one.restingRoutes(), (rest) => [rest.provider, 1])),
  );
  registry.gauges(
    'provider',
    'oriel_provider_keys_resting',
    'Provider keys that are cooling down on at least one route, by provider',
    () => {
      const resting = routings.flatMap((routing) => [...routing.restingKeys()]);
      const providers = new Map(
        resting.map(({ provider, fingerprint }) => [`${fingerprint} ${provider}`, provider]),
      );
      return Array.from(providers.values(), (provider) => [provider, 1]);
    },
  );
}
