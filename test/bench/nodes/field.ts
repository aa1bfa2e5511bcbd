import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine } from '../gateway/field.ts';
import type { Program } from '../peers.ts';
import { type Bench, built, needing, type Trial } from '../trial.ts';
import { Postgres, postgres } from './postgres.ts';

/** A case over a server of its own. */
export interface Case {
  readonly title: string;
  /** Empty for a case that has none. */
  readonly goal: string;
  /** What it needs beside PostgreSQL. */
  readonly program?: Program;
  work(bench: Bench, server: Postgres): Promise<Omit<Trial, 'title'>>;
}

/** Runs a case with a server; without its programs the report names their packages. */
export function withPostgres({ title, goal, program = postgres, work }: Case) {
  return needing([postgres, program], title, goal, async (bench) => {
    const server = await Postgres.start(join(bench.folder, 'postgres'));
    try {
      return { title, ...(await work(bench, server)) };
    } finally {
      await server.stop();
    }
  });
}

/** Oriel's store in a schema of a server, for daemons and for contenders. */
export function engineOf({ url }: Postgres, schema: string): Required<Engine> {
  const driver = new URL('contenders/driver.js', import.meta.url);
  driver.searchParams.set('driver', built('store/drivers/postgres/open.js'));
  driver.searchParams.set('url', url);
  driver.searchParams.set('schema', schema);
  return { driver: driver.href, config: { store: { driver: 'postgres', url, schema } } };
}

/** An empty folder for the files that a node keeps beside the database. */
export function emptyFolder({ folder }: Bench, name: string): string {
  const place = join(folder, name);
  rmSync(place, { recursive: true, force: true });
  return place;
}
