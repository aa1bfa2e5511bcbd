import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../bench/free-port.ts';
import { type EngineProcess, engine, engineFolder, startEngine } from './engine.ts';

export const REDIS = engine('redis-server', 'redis-server', 'valkey-server');

/** A Redis on a port of its own, which keeps nothing on disk. */
export interface TestRedis {
  readonly port: number;
  readonly url: string;
  /** The certificate of one that has TLS. */
  readonly certificate: string;
  /** Stops it as it is: connections stay open and get no answer. */
  pause(): void;
  resume(): void;
  /** Ends it by SIGKILL; its data is lost. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

interface RedisSettings {
  /** For clients; absent for none. */
  readonly password?: string;
  readonly tls?: boolean;
}

export async function startRedis({
  password,
  tls = false,
}: RedisSettings = {}): Promise<TestRedis> {
  const folder = engineFolder('redis');
  const port = await freePort();
  const settings = ['--bind', '127.0.0.1', '--save', '', '--dir', folder];
  const certificate = join(folder, 'certificate.pem');
  if (tls) {
    const key = join(folder, 'key.pem');
    const subject = ['-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const files = ['-keyout', key, '-out', certificate];
    execFileSync('openssl', ['req', '-x509', ...kind, ...subject, ...files], { stdio: 'ignore' });
    settings.push('--tls-cert-file', certificate, '--tls-key-file', key);
    settings.push('--tls-auth-clients', 'no', '--port', '0', '--tls-port', String(port));
  } else settings.push('--port', String(port));
  if (password !== undefined) settings.push('--requirepass', password);
  const launch = () =>
    startEngine(REDIS.program!, settings, (line) => line.includes('Ready to accept connections'));
  let running: EngineProcess = await launch();
  const credentials = password === undefined ? '' : `:${encodeURIComponent(password)}@`;
  return {
    port,
    certificate,
    url: `${tls ? 'rediss' : 'redis'}://${credentials}127.0.0.1:${port}`,
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
