import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../bench/free-port.ts';
import { ROOT } from '../oriel.ts';
import { engine, engineFolder, startEngine } from './engine.ts';

export const NGINX = engine('nginx-light', 'nginx');

export interface TestNginx {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts nginx with the settings of `config/nodes/nginx.conf`.
 *
 * @param upstreams URLs of three servers
 */
export async function startNginx(upstreams: readonly string[]): Promise<TestNginx> {
  const folder = engineFolder('nginx');
  const port = await freePort();
  const hosts = new Map([['127.0.0.1:8790', `127.0.0.1:${port}`]]);
  for (const [index, url] of upstreams.entries()) {
    hosts.set(`127.0.0.1:${8791 + index}`, new URL(url).host);
  }
  const source = readFileSync(join(ROOT, 'config/nodes/nginx.conf'), 'utf8');
  const settings = source.replace(/127\.0\.0\.1:\d+/g, (host) => hosts.get(host)!);
  // Sockets listen before the line about worker processes, which is a notice.
  const noticed = settings.replace('error_log stderr warn', 'error_log stderr notice');
  writeFileSync(join(folder, 'nginx.conf'), noticed);
  mkdirSync(join(folder, 'nginx'));
  const args = ['-p', folder, '-e', 'stderr', '-c', join(folder, 'nginx.conf')];
  const running = await startEngine(NGINX.program!, args, (line) =>
    line.includes('start worker processes'),
  );
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      // SIGKILL would leave its worker processes.
      await running.end('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
