import type { SharedPool } from '../../operations/pool/pool.ts';
import type { Routing } from '../../routing/routing.ts';
import { toCredits } from '../../store/credits.ts';
import type { Store } from '../../store/store.ts';
import type { TextThreads } from '../../threads/text-threads.ts';
import { sumOf } from '../../threads/threads.ts';
import type { RedisError } from '../limits/redis-scripts.ts';
import type { MetricRegistry } from './metric-registry.ts';

// Metrics of states, which are read at each scrape.

export function addPoolMetrics(
  registry: MetricRegistry,
  pool: SharedPool,
  textThreads: TextThreads,
): void {
  const statistics = () => sumOf([pool.statistics(), textThreads.statistics()]);
  registry.addGauges({
    oriel_pool_threads: ['Threads and processes of the image pool', () => pool.size],
    oriel_pool_jobs_running: ['Image jobs that are running', () => statistics().running],
    oriel_pool_jobs_waiting: ['Image jobs that wait', () => statistics().waiting],
  });
  const finished = () => Array.from(statistics().finished);
  registry.counters('operation', 'oriel_pool_jobs_total', 'Finished image jobs by operation', () =>
    finished().map(([operation, { jobs }]) => [operation, jobs]),
  );
  registry.counters(
    'operation',
    'oriel_pool_job_seconds_total',
    'Time spent on image jobs by operation',
    () => finished().map(([operation, { milliseconds }]) => [operation, milliseconds / 1000]),
  );
}

export function addStoreMetrics(registry: MetricRegistry, store: Store): void {
  const { nodes } = store;
  // Each process on the port reads the same of the store, hence `max`.
  registry.addGauges({
    oriel_accounts: ['Accounts', async () => (await store.statistics()).accounts, 'max'],
    oriel_nodes_alive: ['Living daemons on the store', () => nodes.alive(), 'max'],
    oriel_node_leader: [
      '1 if this node does the work that one node does for all, else 0',
      () => Number(nodes.isLeader()),
    ],
    oriel_store_writable: [
      '1 while the store can be written, else 0',
      () => Number(store.health().fault === null),
      'min',
    ],
    oriel_store_pending_charges: [
      'Requests whose charges are not booked yet',
      () => store.health().pendingCharges,
    ],
  });
  const lostLeases = registry.counter(
    'oriel_lost_leases_total',
    'Times that this node could not extend its lease, so that others took over its tasks',
  );
  store.watch(({ kind }) => {
    if (kind === 'lease_lost') lostLeases.inc();
  });
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

type Health = ReturnType<Store['health']>;

function addJournalMetrics(
  registry: MetricRegistry,
  journal: () => NonNullable<Health['journal']>,
): void {
  registry.addGauges({
    oriel_store_checkpoint_failing: [
      '1 if the last checkpoint failed, else 0',
      () => Number(journal().checkpointFault !== null),
    ],
    oriel_store_journals: ['Journal files that the next start replays', () => journal().journals],
    oriel_store_journal_bytes: ['Size of these journal files', () => journal().bytes],
  });
}

function addDatabaseMetrics(
  registry: MetricRegistry,
  database: () => NonNullable<Health['database']>,
): void {
  registry.addGauges({
    oriel_database_connections_busy: [
      'Connections to the database in use',
      () => database().busyConnections,
    ],
    oriel_database_calls_waiting: [
      'Calls that wait for a connection to the database',
      () => database().waitingCalls,
    ],
    oriel_escrow_idle_credits: [
      'Credits that this node has drawn in advance and no request uses',
      () => toCredits(database().idleEscrow),
    ],
  });
}

/** Adds metrics of routes and keys that cool down. */
export function addRoutingMetrics(registry: MetricRegistry, routings: readonly Routing[]): void {
  registry.gauges(
    'provider',
    'oriel_routes_resting',
    'Routes that are cooling down, by provider',
    () => routings.flatMap((one) => Array.from(one.routeCooldowns(), (each) => [each.provider, 1])),
  );
  registry.gauges(
    'provider',
    'oriel_provider_keys_resting',
    'Provider keys that are cooling down on at least one route, by provider',
    () => {
      const cooldowns = routings.flatMap((routing) => [...routing.keyCooldowns()]);
      const providers = new Map(
        cooldowns.map(({ provider, fingerprint }) => [`${fingerprint} ${provider}`, provider]),
      );
      return Array.from(providers.values(), (provider) => [provider, 1]);
    },
  );
}

const REDIS_ANSWERS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05];

/** Adds metrics of the Redis of `limits.shared`. @returns what counts its answers and errors */
export function addRedisMetrics(registry: MetricRegistry, isAvailable: () => boolean) {
  const durations = registry.histogram(
    'oriel_limits_redis_duration_seconds',
    'Time that a request waited for the answer of Redis about its rate limit',
    REDIS_ANSWERS,
  );
  const errors = registry.counter(
    'oriel_limits_redis_errors_total',
    "Requests whose rate limit was counted by this node's share because Redis failed, by error",
    ['error'],
  );
  for (const error of ['timeout', 'connection', 'reply'] as const) errors.inc({ error }, 0);
  registry.gauge(
    'oriel_limits_redis_available',
    '1 while Redis counts rate limits, 0 while the circuit is open and nodes have shares',
    () => Number(isAvailable()),
  );
  return {
    answered: (milliseconds: number) => durations.observe(milliseconds / 1000),
    failed: (error: RedisError) => errors.inc({ error }),
  };
}
