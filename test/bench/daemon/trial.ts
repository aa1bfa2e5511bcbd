import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Corpus } from '../images/corpus.ts';
import { findProgram } from '../peers.ts';
import { built, type Bench as CaseBench, runScript } from '../trial.ts';
import { Server } from './server.ts';

/** The keys of two accounts; the first has the tasks. */
export const KEYS = ['oriel_bench_key_of_the_first_account', 'oriel_bench_key_of_the_second_one'];

/** Inputs of a case of this suite. */
export interface Bench extends CaseBench {
  readonly corpus: Corpus;
}

export const wrk = findProgram('wrk', 'wrk');
export const curl = findProgram('curl', 'curl');

/**
 * A new data directory with the accounts of KEYS and some finished tasks.
 *
 * @param driver module that opens the store
 * @returns the last task's id
 */
export async function seed(
  bench: Pick<Bench, 'folder'>,
  name: string,
  tasks: number,
  driver = built('store/drivers/open.js'),
): Promise<{ data: string; task: string }> {
  const data = join(bench.folder, name);
  mkdirSync(data, { recursive: true });
  const args = [driver, 'seed', join(data, 'store'), tasks, ...KEYS];
  return { data, task: await runScript(bench, 'store/contenders/store', args) };
}

/** Runs work with a daemon on a data directory. */
export function withDaemon<Value>(
  { folder }: Pick<Bench, 'folder'>,
  data: string,
  work: (daemon: Server) => Promise<Value>,
  config: object = {},
): Promise<Value> {
  return Server.during(() => Server.oriel(join(folder, 'daemon'), data, config), work);
}
