import type { ClaimedDeliveries, Delivery, DeliveryQuery } from '../../delivery.ts';
import { type Nodes, searchInterval } from '../../nodes.ts';
import type { ClaimQuery } from '../../task.ts';
import type { Database } from './database/database.ts';

/** Milliseconds after which deliveries of nodes that have died since are looked for. */
const POLL_MS = 1000;

/** Nodes whose leases have ended, or that never had one. */
const IS_DEAD =
  'NOT EXISTS (SELECT 1 FROM $schema.nodes AS n WHERE n.id = %.node AND n.alive_until > now())';

interface Orphan {
  readonly id: string;
  readonly node: string | null;
}

/** Pending tasks in the order of fair claims: of the accounts with the fewest processing tasks, the oldest of each. */
export async function pendingTasks(
  database: Database,
  { limit, exceptModels = [] }: ClaimQuery,
  now: number,
): Promise<readonly string[]> {
  const oldest = (count: string) => `
    SELECT id, seq FROM $schema.tasks WHERE account_id = a.id AND status = 'pending'
      AND deadline > $1 AND model <> ALL($2::text[]) ORDER BY seq LIMIT ${count}`;
  // A call takes tasks of at most $3 accounts: of those with equal numbers, the ones with the oldest tasks.
  const rows = await database.query<{ id: string }>(
    `SELECT t.id FROM (
       SELECT * FROM (
         SELECT a.id, a.processing, t.seq FROM (
           SELECT id, processing FROM $schema.accounts WHERE has_pending ORDER BY processing
         ) AS a CROSS JOIN LATERAL (${oldest('1')}) AS t
         ORDER BY a.processing FETCH FIRST $3 ROWS WITH TIES
       ) AS fewest ORDER BY processing, seq LIMIT $3
     ) AS a CROSS JOIN LATERAL (
       SELECT oldest.*, row_number() OVER (ORDER BY seq) AS place FROM (${oldest('$3')}) AS oldest
     ) AS t ORDER BY a.processing + t.place, t.seq LIMIT $3`,
    [now, exceptModels, limit],
  );
  return rows.map(({ id }) => id);
}

/** Processing tasks of dead nodes, oldest first. */
export function orphanedTasks(
  database: Database,
  { limit, exceptModels = [] }: ClaimQuery,
): Promise<readonly Orphan[]> {
  return database.query<Orphan>(
    `SELECT t.id, t.node FROM $schema.tasks AS t WHERE t.status = 'processing'
       AND ${IS_DEAD.replace('%', 't')} AND t.model <> ALL($1::text[]) ORDER BY t.seq LIMIT $2`,
    [exceptModels, limit],
  );
}

/** Tasks after their deadlines that no living node processes. */
export function overdueTasks(
  database: Database,
  limit: number,
  now: number,
): Promise<readonly Orphan[]> {
  return database.query<Orphan>(
    `SELECT t.id, t.node FROM $schema.tasks AS t
     WHERE t.status IN ('pending', 'processing') AND t.deadline <= $1
       AND (t.status = 'pending' OR ${IS_DEAD.replace('%', 't')}) ORDER BY t.deadline LIMIT $2`,
    [now, limit],
  );
}

/** Escrows of nodes whose lease of escrows has ended. */
export function orphanedEscrows(
  database: Database,
): Promise<readonly { readonly id: string; readonly node: string }[]> {
  return database.query(
    `SELECT e.id, e.node FROM $schema.escrows AS e WHERE NOT EXISTS (
       SELECT 1 FROM $schema.nodes AS n WHERE n.id = e.node AND n.escrow_until > now()) LIMIT 500`,
  );
}

/** The deliveries that this node has claimed. */
export interface DeliveryClaims {
  readonly node: string;
  readonly claimed: Set<string>;
}

/** Claims deliveries that are due. Deliveries of other nodes that are being claimed are skipped. */
export async function claimDeliveries(
  database: Database,
  { limit, exceptAccounts = [] }: DeliveryQuery,
  { node, claimed: known, now, nodes }: DeliveryClaims & { now: number; nodes: Nodes },
): Promise<ClaimedDeliveries> {
  // A claim of this node that it does not know was committed while the connection broke.
  const isFree = `status = 'pending' AND account_id <> ALL($1::text[]) AND (node IS NULL
    OR node = $2 AND id <> ALL($3::text[]) OR ${IS_DEAD.replace('%', 'deliveries')})`;
  const claims = [exceptAccounts, node, [...known]];
  const claimed = await database.query<{ record: Delivery }>(
    `UPDATE $schema.deliveries SET node = $2 WHERE id IN (
       SELECT id FROM $schema.deliveries WHERE ${isFree} AND (next_at <= $4 OR tried_at > $4)
       ORDER BY next_at LIMIT $5 FOR UPDATE SKIP LOCKED
     ) RETURNING record`,
    [...claims, now, limit],
  );
  const deliveries = claimed
    .map(({ record }) => record)
    .sort((one, other) => one.nextAt! - other.nextAt!);
  for (const { id } of deliveries) known.add(id);
  if (deliveries.length === limit) return { deliveries, nextAt: now };
  const [row] = await database.query<{ next: number | null; others: boolean }>(
    `SELECT (SELECT min(next_at) FROM $schema.deliveries WHERE ${isFree}) AS next,
       EXISTS (SELECT 1 FROM $schema.deliveries WHERE status = 'pending' AND node <> $2) AS others`,
    claims.map((values) => (values === claims[2] ? [...known] : values)),
  );
  const { next, others } = row!;
  // A delivery of another node becomes free when that dies.
  const times = [
    ...(next === null ? [] : [Math.max(now, next)]),
    ...(others ? [now + searchInterval(POLL_MS, nodes)] : []),
  ];
  return { deliveries, nextAt: times.length === 0 ? null : Math.min(...times) };
}
