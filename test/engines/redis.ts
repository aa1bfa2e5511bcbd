import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../bench/free-port.ts';
import { type EngineProcess, engine, startEngine } from './engine.ts';

export const REDIS = engine('redis-server', 'redis-server', 'valkey-server');

/** A Redis on a port of its own, which keeps nothing on disk. */
export interface TestRedis {
  readonly port: number;
  readonly url: string;
  /** Stops it as it is: connections stay open and get no answer. */
  pause(): void;
  resume(): void;
  /** Ends it by SIGKILL; its data is lost. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** @param password for clients; absent for none */
export async function startRedis({ password }: { password?: string } = {}): Promise<TestRedis> {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-redis-'));
  const port = await freePort();
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  if (password !== undefined) settings.push('--requirepass', password);
  const launch = () =>
    startEngine(REDIS.program!, settings, (line) => line.includes('Ready to accept connections'));
  let running: EngineProcess = await launch();
  const credentials = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
  return {
    port,
    url: `redis://${credentials}127.0.0.1:${port}`,
    pause: () => {
      running.child.kill('SIGSTOP');
    },
    resume: () => {
      running.child.kill('SIGCONT');
    },
    kill: () => running.end(),
    async restart() {
      running = await launch();
    },
    async close() {
      await running.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
