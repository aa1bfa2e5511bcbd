import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { shared } from '../../flow.ts';
import { containerMemory } from '../../operations/pool/pool.ts';
import { field } from '../../schema/fields.ts';
import { inCredits } from '../../store/credits.ts';
import { TASK_STATES } from '../../store/task.ts';
import type { AppContext } from '../request/app-context.ts';
import { addEndpoint } from '../request/endpoint.ts';
import { seconds } from '../request/query.ts';
import { withTimeout } from '../transport/timeout.ts';

const bytes = v.nullable(v.number());

const statusShape = v.object({
  object: v.literal('status'),
  version: v.string(),
  node: v.string(),
  started: v.number(),
  uptime_seconds: v.number(),
  public_url: v.string(),
  draining: v.boolean(),
  store: v.object({
    fault: field(v.nullable(v.string()), 'why it cannot be written'),
    checkpoint_fault: v.nullable(v.string()),
    journals: field(v.nullable(v.number()), 'null where the driver has none'),
    journal_bytes: v.nullable(v.number()),
    pending_charges: v.number(),
    accounts: v.number(),
    keys: v.number(),
    tasks: v.object(
      Object.fromEntries(TASK_STATES.map((state) => [state, v.number()])) as Record<
        (typeof TASK_STATES)[number],
        v.NumberSchema<undefined>
      >,
    ),
    credits: v.object({ granted: v.number(), reserved: v.number(), spent: v.number() }),
  }),
  disk: v.object({
    store_bytes: field(bytes, 'null where the disk does not answer'),
    free_bytes: bytes,
    total_bytes: bytes,
  }),
  memory: v.object({
    rss_bytes: v.number(),
    heap_bytes: v.number(),
    external_bytes: v.number(),
    limit_bytes: field(v.number(), "the container's, or the machine's memory"),
  }),
  pool: v.object({ threads: v.number(), running: v.number(), waiting: v.number() }),
  open_tasks: v.number(),
  queues: field(
    v.array(
      v.object({
        provider: v.string(),
        limit: v.number(),
        running: v.number(),
        waiting: v.number(),
      }),
    ),
    'media tasks at each provider that had any',
  ),
});

/** Answer of `GET /v1/admin/status`. */
export type StatusAnswer = v.InferOutput<typeof statusShape>;

type DiskUse = StatusAnswer['disk'];

const UNKNOWN: DiskUse = { store_bytes: null, free_bytes: null, total_bytes: null };

/** Bytes of all files in a folder and the folders in it. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  let sum = 0;
  for (const entry of entries) {
    // A checkpoint may remove a file meanwhile.
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile())
      sum += await stat(file).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return sum;
}

async function readDiskUse(dataDir: string): Promise<DiskUse> {
  const [store, { bavail, blocks, bsize }] = await Promise.all([
    sizeOf(join(dataDir, 'store')),
    statfs(dataDir),
  ]);
  return { store_bytes: store, free_bytes: bavail * bsize, total_bytes: blocks * bsize };
}

/** Milliseconds for the disk to answer. */
const TIMEOUT_MS = 2000;

/**
 * Measures the disk. Concurrent requests share one measurement: on a disk that hangs, each blocks one of
 * libuv's threads for ever.
 */
function diskGauge({ config }: AppContext): () => Promise<DiskUse> {
  const read = shared(() => readDiskUse(config.dataDir).catch(() => UNKNOWN));
  return () => withTimeout(read(), TIMEOUT_MS, UNKNOWN);
}

/** The state of the process, its store, its disk and its queues. */
export function statusRoute(server: FastifyInstance, context: AppContext): void {
  const { store, pool, tasks, version } = context;
  const started = seconds(performance.timeOrigin);
  const diskUse = diskGauge(context);
  addEndpoint(server, {
    path: 'GET /v1/admin/status',
    tag: 'Administration',
    summary:
      'Version, uptime, store, disk, memory, image pool and queues; for keys of the account owner',
    answer: statusShape,
    handler: async () => {
      const { fault, pendingCharges, journal } = store.health();
      const { accounts, keys, tasks: counts, credits } = await store.statistics();
      const { rss, heapUsed, external } = process.memoryUsage();
      const { running, waiting } = pool.statistics();
      return {
        object: 'status' as const,
        version,
        node: process.versions.node,
        started,
        uptime_seconds: Math.round(process.uptime()),
        public_url: context.publicUrl,
        draining: context.draining.aborted,
        store: {
          fault,
          checkpoint_fault: journal?.checkpointFault ?? null,
          journals: journal?.journals ?? null,
          journal_bytes: journal?.bytes ?? null,
          pending_charges: pendingCharges,
          accounts,
          keys,
          tasks: { ...counts },
          credits: inCredits(credits),
        },
        disk: await diskUse(),
        memory: {
          ...{ rss_bytes: rss, heap_bytes: heapUsed, external_bytes: external },
          limit_bytes: containerMemory(),
        },
        pool: { threads: pool.size, running, waiting },
        open_tasks: tasks.size,
        queues: [...tasks.queues()],
      };
    },
  });
}
