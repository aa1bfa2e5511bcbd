import { mkdirSync, readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/settings/schema.ts';
import { codedFailure } from '../../failure.ts';
import { valueOr } from '../../flow.ts';
import { defaultMemoryLimit } from '../../http/transport/pressure.ts';
import { defaultMemory } from '../../operations/pool/shared-pool.ts';

/** One of the processes that serve one port. */
export interface ProcessPlace {
  /** Number of its folder, from 1. During a restart in turn one more than `count` are in use. */
  readonly number: number;
  readonly count: number;
  /** Whether no other process runs yet: it migrates the database and sweeps the folder of files. */
  readonly isFirst: boolean;
}

/** Fewest connections to the database of a process: reads leave some of them to writes. */
const MIN_CONNECTIONS = 4;

/** The number of processes that a configuration asks for. */
export function processesOf({ server: { processes } }: Config): number {
  return processes === 'auto' ? availableParallelism() : processes;
}

/** @throws Failure where several processes cannot serve a configuration */
export function checkProcesses({ store, cassettes }: Config, count: number): void {
  const refuse = (message: string) => {
    throw codedFailure('one_process_only', message);
  };
  if (store.driver === 'lowdb') {
    refuse(
      `server.processes: expected 1 with store.driver lowdb, received ${count}: one process alone may write its journal; set store.driver to postgres`,
    );
  }
  if (cassettes.mode !== 'off') {
    refuse(
      `server.processes: expected 1 with cassettes, received ${count}: recordings are used up in the order of one process`,
    );
  }
}

const foldersOf = (dataDir: string) => join(dataDir, 'processes');

/** The data folder of a process: the first one has that of a single daemon. */
function folderOfProcess(dataDir: string, number: number): string {
  return number === 1 ? dataDir : join(foldersOf(dataDir), `${number}`);
}

/** The numbers of all processes that have a folder, in order. */
function knownProcesses(dataDir: string): readonly number[] {
  const others = namesIn(foldersOf(dataDir)).map(Number).filter(Number.isSafeInteger);
  return [1, ...others.sort((one, other) => one - other)];
}

/** Numbers whose process left charges that are not in the database, which the next process in its folder books. */
export function processesWithCharges(dataDir: string): readonly number[] {
  return knownProcesses(dataDir).filter(
    (number) => namesIn(join(folderOfProcess(dataDir, number), 'store', 'charges')).length > 0,
  );
}

const namesIn = (folder: string): readonly string[] => valueOr(() => readdirSync(folder), []);

/** The configuration of one process: its folder, and its part of what the machine has once. */
export function configOfProcess(config: Config, { number, count }: ProcessPlace): Config {
  const { dataDir, pool, batch, overload, server, store } = config;
  const part = (value: number) => Math.max(1, Math.ceil(value / count));
  const { maxConnections } = server;
  const folder = folderOfProcess(dataDir, number);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return {
    ...config,
    dataDir: folder,
    secretKeyFile: config.secretKeyFile ?? join(dataDir, 'secret.key'),
    server: {
      ...server,
      ...(maxConnections !== undefined && { maxConnections: part(maxConnections) }),
    },
    store: {
      ...store,
      poolSize: Math.min(store.poolSize, Math.max(MIN_CONNECTIONS, part(store.poolSize))),
    },
    pool: {
      threads: part(pool.threads ?? availableParallelism()),
      memory: part(pool.memory ?? defaultMemory()),
    },
    batch: {
      ...batch,
      concurrency: part(batch.concurrency),
      queue: part(batch.queue),
      memory: part(batch.memory),
      spool: part(batch.spool),
    },
    overload: {
      ...overload,
      bodies: part(overload.bodies),
      memory: part(overload.memory ?? defaultMemoryLimit()),
    },
  };
}
