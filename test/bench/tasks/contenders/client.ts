import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { inFlight } from '../../store/contenders/work.ts';
import { bodyOf, HEADERS, type Manner } from '../field.ts';

// Requests pictures, some of them concurrently, and prints the milliseconds until each response, or each callback if
// it requests one.

/** Input of the client. */
export interface Errand {
  readonly url: string;
  readonly path: string;
  readonly model: Manner;
  readonly width: number;
  readonly count: number;
  /** Whether to measure until the callback instead of the response. */
  readonly callbacks: boolean;
}

/** Output of the client. */
export interface Waits {
  /** Time from the first request to the last response. */
  readonly seconds: number;
  /** Milliseconds by prompt. */
  readonly milliseconds: Readonly<Record<string, number>>;
}

const { url, path, model, width, count, callbacks } = JSON.parse(process.argv[2]!) as Errand;
const pool = new Pool(url, { connections: width });

const arrivals = new Map<string, () => void>();
const receiver = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    arrivals.get(request.url!)?.();
    response.writeHead(204).end();
  });
});
receiver.listen(0, '127.0.0.1');
await once(receiver, 'listening');
const { port } = receiver.address() as AddressInfo;

let number = 0;
const milliseconds: Record<string, number> = {};

async function order(): Promise<void> {
  number += 1;
  const mark = `/${number}`;
  const arrived = new Promise<void>((resolve) => arrivals.set(mark, resolve));
  const callback_url = `http://127.0.0.1:${port}${mark}`;
  const body = bodyOf(model, ` ${mark}`, callbacks ? { callback_url } : {});
  const began = performance.now();
  const answer = await pool.request({ method: 'POST', path, headers: HEADERS, body });
  const text = await answer.body.text();
  if (answer.statusCode !== (callbacks ? 202 : 200)) {
    throw new Error(`answered ${answer.statusCode}: ${text.slice(0, 300)}`);
  }
  if (callbacks) await arrived;
  milliseconds[(JSON.parse(body) as { prompt: string }).prompt] = performance.now() - began;
}

const seconds = await inFlight(width, count, order);
await pool.destroy();
receiver.close();
receiver.closeAllConnections();
process.stdout.write(JSON.stringify({ seconds, milliseconds } satisfies Waits));
