import { execFileSync } from 'node:child_process';
import { chownSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { freePort } from '../bench/free-port.ts';
import { onProcessEnd } from '../oriel.ts';
import { describeWith, engine, engineFolder } from './engine.ts';

/** Debian installs the programs of the server outside of PATH. */
export const POSTGRES = engine('postgresql-15', 'pg_ctl');

/** A PostgreSQL server of the tests, on a free port. */
export interface PostgresServer {
  readonly port: number;
  /** Superuser without a password. */
  readonly url: string;
  /** Kills the server without a checkpoint, as a crash of the machine does, and starts it again. */
  crash(): void;
  stop(): void;
  start(): void;
  /** Stops all its processes as they are: connections stay open and get no answer. */
  pause(): void;
  resume(): void;
  /** Runs SQL, and returns the output of psql without headers. */
  sql(text: string): string;
}

/** The server refuses to run as root. */
function asServerUser(program: string, args: readonly string[]): string {
  const path = join(dirname(POSTGRES.program!), program);
  const [command, ...rest] =
    process.getuid?.() === 0 ? ['runuser', '-u', 'postgres', '--', path, ...args] : [path, ...args];
  // The server inherits the descriptors of pg_ctl: a pipe would never end.
  const output = program === 'pg_ctl' ? 'ignore' : 'pipe';
  return execFileSync(command!, rest, {
    cwd: tmpdir(),
    encoding: 'utf8',
    stdio: ['ignore', output, output],
  });
}

/** Data of a new server, which all servers of this process copy. */
let initial: string | undefined;

function folderOfServer(): string {
  const folder = engineFolder('postgres');
  if (process.getuid?.() === 0) {
    const id = Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }));
    chownSync(folder, id, id);
  }
  return folder;
}

function initialData(): string {
  const data = join(folderOfServer(), 'data');
  asServerUser('initdb', ['-D', data, '-A', 'trust', '-U', 'oriel', '-E', 'UTF8', '--no-sync']);
  return data;
}

/** A server with its own data, until it is removed. */
export async function startPostgres(): Promise<PostgresServer & { remove(): void }> {
  const folder = folderOfServer();
  const data = join(folder, 'data');
  const port = await freePort();
  initial ??= initialData();
  execFileSync('cp', ['-a', initial, data]);
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    // Crashes of the server are tested, and crashes of the machine are not.
    'fsync=off',
    'max_connections=200',
    // Its folder is in memory.
    'max_wal_size=128MB',
    // Plans do not change in the middle of a test.
    'autovacuum=off',
  ];
  const options = settings.map((setting) => `-c ${setting}`).join(' ');
  const control = (...args: string[]) =>
    asServerUser('pg_ctl', ['-D', data, '-w', '-s', '-l', join(folder, 'log'), ...args]);
  let paused: readonly number[] = [];
  const resume = () => {
    for (const id of paused) process.kill(id, 'SIGCONT');
    paused = [];
  };
  const remove = () => {
    release();
    resume();
    try {
      control('-m', 'immediate', 'stop');
    } catch {
      // A test may have stopped it.
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const release = onProcessEnd(remove);
  control('-o', options, 'start');
  const url = `postgres://oriel@127.0.0.1:${port}/postgres`;
  return {
    port,
    url,
    crash() {
      control('-m', 'immediate', 'stop');
      control('-o', options, 'start');
    },
    stop: () => control('-m', 'immediate', 'stop'),
    start: () => control('-o', options, 'start'),
    pause() {
      const server = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]);
      process.kill(server, 'SIGSTOP');
      const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8');
      paused = [...children.trim().split(' ').map(Number), server];
      for (const id of paused) process.kill(id, 'SIGSTOP');
    },
    resume,
    sql: (text) =>
      execFileSync(
        join(dirname(POSTGRES.program!), 'psql'),
        [url, '-qAtX', '-v', 'ON_ERROR_STOP=1', '-c', text],
        {
          encoding: 'utf8',
        },
      ),
    remove,
  };
}

/** Tests that need PostgreSQL, with one server for all of them. Skipped where it is not installed. */
export function describeWithPostgres(
  title: string,
  tests: (server: () => PostgresServer) => void,
): void {
  describeWith([POSTGRES], title, () => {
    let server: Awaited<ReturnType<typeof startPostgres>> | undefined;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server?.remove());
    tests(() => server!);
  });
}
