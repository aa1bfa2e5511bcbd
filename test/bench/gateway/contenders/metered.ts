import { createHash, randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import fastify from 'fastify';
import { Counter, Histogram, Registry } from 'prom-client';
import { chat } from '../formats/chat.ts';
import { body, forward } from './forward.ts';
import { listen, upstreamOf } from './listen.ts';

// `full` with what an operator expects of a gateway, each done as little as possible: a key that is hashed and
// looked up, a limit per minute, a charge that is in a file before the answer is sent, metrics, and a log line.

const upstream = upstreamOf(process.argv[2]!);
const metered = new Set<string>();
const registry = new Registry();
const requests = new Counter({
  name: 'requests_total',
  help: 'Requests',
  labelNames: ['model', 'status'],
  registers: [registry],
});
const seconds = new Histogram({
  name: 'request_seconds',
  help: 'Duration',
  labelNames: ['model'],
  registers: [registry],
});
const tokens = new Counter({
  name: 'tokens_total',
  help: 'Tokens',
  labelNames: ['model', 'kind'],
  registers: [registry],
});
const journal = await open(join(process.argv[3]!, 'journal'), 'a');
/** Charges of requests that end in the same turn of the event loop are written together. */
let charges: { lines: string; written: Promise<unknown> } | null = null;

function charge(line: string): Promise<unknown> {
  if (charges === null) {
    const own = { lines: '', written: Promise.resolve() as Promise<unknown> };
    own.written = new Promise((resolve) => setImmediate(resolve)).then(() => {
      charges = null;
      return journal.appendFile(own.lines);
    });
    charges = own;
  }
  charges.lines += line;
  return charges.written;
}

interface Chat {
  readonly model: string;
}
interface Answer {
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const limit = { minute: 0, left: 0 };
const server = fastify();
server.post<{ Body: Chat }>(chat.path, { schema: { body } }, async (request, reply) => {
  const started = performance.now();
  const hash = createHash('sha256')
    .update(request.headers.authorization ?? '')
    .digest('hex');
  metered.add(hash);
  const minute = Math.floor(Date.now() / 60_000);
  if (limit.minute !== minute) Object.assign(limit, { minute, left: 1e9 });
  limit.left -= 1;
  const id = randomUUID();
  const { usage, ...rest } = (await forward(upstream, request, reply)) as Answer;
  const { model } = request.body;
  const { prompt_tokens: input, completion_tokens: output } = usage;
  const credits = input * 1.25 + output * 10;
  await charge(`${JSON.stringify({ id, hash, model, input, output, credits })}\n`);
  const elapsed = performance.now() - started;
  requests.inc({ model, status: reply.statusCode });
  seconds.observe({ model }, elapsed / 1000);
  tokens.inc({ model, kind: 'input' }, input);
  tokens.inc({ model, kind: 'output' }, output);
  const { method, url } = request;
  process.stdout.write(
    `${JSON.stringify({ time: Date.now(), id, method, url, status: reply.statusCode, model, input, output, credits, elapsed })}\n`,
  );
  reply.headers({ 'x-request-id': id, 'x-ratelimit-remaining': limit.left });
  return { ...rest, usage };
});
await listen(server);
