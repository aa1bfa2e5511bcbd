import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../bench/free-port.ts';
import { engine, engineFolder, startEngine } from './engine.ts';

export const PGBOUNCER = engine('pgbouncer', 'pgbouncer');

/** User nobody: pgbouncer does not run as root. */
const UID = 65534;

export interface TestPgbouncer {
  readonly port: number;
  /** A connection string for a user and a database of the server behind it. */
  urlOf(user: string, database: string): string;
  close(): Promise<void>;
}

export interface PgbouncerSettings {
  /** Port of PostgreSQL at 127.0.0.1, which trusts its users. */
  readonly postgresPort: number;
  readonly users: readonly string[];
  readonly mode?: 'transaction' | 'session';
  /** Connections to PostgreSQL. */
  readonly poolSize?: number;
}

/** Starts pgbouncer on a port of its own. */
export async function startPgbouncer({
  postgresPort,
  users,
  mode = 'transaction',
  poolSize = 10,
}: PgbouncerSettings): Promise<TestPgbouncer> {
  const folder = engineFolder('pgbouncer');
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(folder, UID, UID);
  const port = await freePort();
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(join(folder, 'users.txt'), users.map((user) => `"${user}" ""\n`).join(''));
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${postgresPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
admin_users = ${users.join(', ')}
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 1000
ignore_startup_parameters = extra_float_digits
`,
  );
  const isReady = (line: string) => line.includes('process up');
  const options = isRoot ? { uid: UID, gid: UID } : {};
  const running = await startEngine(PGBOUNCER.program!, [file], isReady, options);
  return {
    port,
    urlOf: (user, database) => `postgres://${user}@127.0.0.1:${port}/${database}`,
    async close() {
      await running.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
