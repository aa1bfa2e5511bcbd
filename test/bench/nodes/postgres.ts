import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { cpuOfFamily } from '../daemon/server.ts';
import { freePort } from '../free-port.ts';
import { findProgram, type Program } from '../peers.ts';

const run = promisify(execFile);

/** Where Debian installs the server, which is not on the PATH. */
const DEBIAN: Program = {
  name: 'initdb',
  from: 'postgresql-15',
  file: '/usr/lib/postgresql/15/bin/initdb',
};
const beside = (name: string): Program => {
  const debian = findProgram(name, DEBIAN.from, DEBIAN);
  return debian.file === undefined ? findProgram(name, DEBIAN.from) : debian;
};
export const postgres = beside('pg_ctl');
const initdb = beside('initdb');

/** Clock ticks per second of the CPU times in /proc. */

/** A server with fsync and synchronous_commit on, which counts its statements. */
export class Postgres {
  readonly url: string;
  readonly #folder: string;
  readonly #options: string;
  readonly #pool: pg.Pool;

  private constructor(folder: string, port: number) {
    this.url = `postgres://oriel@127.0.0.1:${port}/postgres`;
    this.#folder = folder;
    this.#options = [
      ...[`port=${port}`, 'listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`],
      ...['fsync=on', 'synchronous_commit=on', 'max_connections=600', 'max_wal_size=8GB'],
      'shared_preload_libraries=pg_stat_statements',
    ]
      .map((setting) => `-c ${setting}`)
      .join(' ');
    this.#pool = new pg.Pool({ connectionString: this.url, max: 2 });
    this.#pool.on('error', () => {});
  }

  static async start(folder: string): Promise<Postgres> {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    // The server refuses to run as root.
    if (process.getuid?.() === 0) {
      const id = Number((await run('id', ['-u', 'postgres'])).stdout);
      chownSync(folder, id, id);
    }
    const server = new Postgres(folder, await freePort());
    await asServerUser(initdb.file!, ['-D', join(folder, 'data'), '-A', 'trust', '-U', 'oriel']);
    await server.#control('-o', server.#options, 'start');
    await server.sql('CREATE EXTENSION pg_stat_statements');
    return server;
  }

  /** Kills the server as a crash does, and starts it again. */
  async crash(): Promise<void> {
    await this.#control('-m', 'immediate', 'stop');
    await this.#control('-o', this.#options, 'start');
  }

  async stop(): Promise<void> {
    await this.#pool.end();
    await this.#control('-m', 'fast', 'stop');
  }

  async sql(text: string): Promise<pg.QueryResult> {
    const result = await this.#pool.query(text);
    return result;
  }

  /** Statements of all clients so far, without those of this class. */
  async statements(): Promise<number> {
    const { rows } = await this.sql(
      `SELECT sum(calls)::float8 AS calls FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'`,
    );
    return (rows[0] as { calls: number }).calls;
  }

  get folder(): string {
    return this.#folder;
  }

  cpu(): number {
    return cpuOf(this.#folder);
  }

  async #control(...args: string[]): Promise<void> {
    const place = ['-D', join(this.#folder, 'data'), '-w', '-s', '-l', join(this.#folder, 'log')];
    await asServerUser(postgres.file!, [...place, ...args]);
  }
}

async function asServerUser(file: string, args: readonly string[]): Promise<void> {
  const isRoot = process.getuid?.() === 0;
  // The server inherits the descriptors of pg_ctl: a pipe would never end.
  const line = isRoot ? ['runuser', '-u', 'postgres', '--', file, ...args] : [file, ...args];
  await run('sh', ['-c', '"$@" >/dev/null 2>&1 </dev/null', 'sh', ...line], { cwd: '/' });
}

/** Seconds of CPU time of all processes of a server so far. */
export function cpuOf(folder: string): number {
  const [main] = readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n');
  return cpuOfFamily(Number(main));
}
