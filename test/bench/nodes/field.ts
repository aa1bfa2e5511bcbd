import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Bench, Trial } from '../cases.ts';
import { built, notMeasured } from '../daemon/trial.ts';
import type { Engine } from '../gateway/field.ts';
import { measure } from '../measure.ts';
import type { Program } from '../peers.ts';
import { Postgres, postgres } from './postgres.ts';

/** A case of the suite. */
export interface Case {
  readonly title: string;
  /** Empty for a case that has none. */
  readonly goal: string;
  /** What it needs beside PostgreSQL. */
  readonly program?: Program;
  work(bench: Bench, server: Postgres): Promise<Trial>;
}

/** Runs a case with a server of its own; where a program is not installed the report names its package. */
export function withPostgres(
  id: string,
  { title, goal, program = postgres, work }: Case,
): (bench: Bench) => Promise<Trial> {
  return async (bench) => {
    const absent = [postgres, program].find(({ file }) => file === undefined);
    if (absent !== undefined) return notMeasured(id, title, absent, goal);
    const server = await Postgres.start(join(bench.folder, 'postgres'));
    try {
      return await work(bench, server);
    } finally {
      await server.stop();
    }
  };
}

/** Oriel's store in a schema of a server, for daemons and for contenders. */
export function engineOf({ url }: Postgres, schema: string): Required<Engine> {
  const driver = new URL('contenders/driver.js', import.meta.url);
  driver.searchParams.set('driver', built('store/drivers/postgres/open.js'));
  driver.searchParams.set('url', url);
  driver.searchParams.set('schema', schema);
  return { driver: driver.href, config: { store: { driver: 'postgres', url, schema } } };
}

/** Runs a script of contenders/, or of another suite's. @returns its last line */
export async function figuresOf<Figures>(
  { folder }: Bench,
  file: string,
  args: readonly string[],
): Promise<Figures> {
  const place = join(folder, 'script');
  mkdirSync(place, { recursive: true });
  const path = fileURLToPath(new URL(`${file}.js`, import.meta.url));
  await measure({ file: process.execPath, args: [path, ...args] }, place);
  return JSON.parse(readFileSync(join(place, 'stdout'), 'utf8')) as Figures;
}

/** An empty folder for the files that a node keeps beside the database. */
export function emptyFolder({ folder }: Bench, name: string): string {
  const place = join(folder, name);
  rmSync(place, { recursive: true, force: true });
  return place;
}
