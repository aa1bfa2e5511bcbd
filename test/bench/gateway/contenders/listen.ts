import type { FastifyInstance } from 'fastify';
import { Pool } from 'undici';

/** Kept connections to the upstream, as many as the largest load here has. */
export function upstreamOf(url: string): Pool {
  return new Pool(url, { connections: 128 });
}

/** Listens, and logs the URL as the benchmark expects it. */
export async function listen(server: FastifyInstance): Promise<void> {
  server.get('/', async () => 'ready');
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  process.stdout.write(`${JSON.stringify({ url, msg: 'ready' })}\n`);
  process.once('SIGTERM', () => process.exit());
}
