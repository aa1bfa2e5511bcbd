import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Histogram, Registry } from 'prom-client';

// `full` with what an operator expects of a gateway, each done as little as possible: a key that is hashed and
// looked up, a limit per minute, a charge that is in a file before the answer is sent, metrics, and a log line.

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

const metered = new Set<string>();
const registers = [new Registry()];
const metric = (name: string, labelNames: string[]) => {
  return { name, help: name, labelNames, registers };
};
const requests = new Counter(metric('requests_total', ['model', 'status']));
const seconds = new Histogram(metric('request_seconds', ['model']));
const tokens = new Counter(metric('tokens_total', ['model', 'kind']));
let journal: FileHandle;
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

interface Answer {
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
}

const limit = { minute: 0, left: 0 };

/** @param folder folder of the journal of charges */
export async function meter(folder: string, forward: Handler): Promise<Handler> {
  journal = await open(join(folder, 'journal'), 'a');
  return async (request, reply) => {
    const started = performance.now();
    const hash = createHash('sha256')
      .update(request.headers.authorization ?? '')
      .digest('hex');
    metered.add(hash);
    const minute = Math.floor(Date.now() / 60_000);
    if (limit.minute !== minute) Object.assign(limit, { minute, left: 1e9 });
    limit.left -= 1;
    const id = randomUUID();
    const { usage, ...rest } = (await forward(request, reply)) as Answer;
    const { model } = request.body as { readonly model: string };
    const { prompt_tokens: input, completion_tokens: output } = usage;
    const credits = input * 1.25 + output * 10;
    await charge(`${JSON.stringify({ id, hash, model, input, output, credits })}\n`);
    const elapsed = performance.now() - started;
    requests.inc({ model, status: reply.statusCode });
    seconds.observe({ model }, elapsed / 1000);
    tokens.inc({ model, kind: 'input' }, input);
    tokens.inc({ model, kind: 'output' }, output);
    const { method, url } = request;
    const status = reply.statusCode;
    const line = { time: Date.now(), id, method, url, status, model, input, output, credits };
    process.stdout.write(`${JSON.stringify({ ...line, elapsed })}\n`);
    reply.headers({ 'x-request-id': id, 'x-ratelimit-remaining': limit.left });
    return { ...rest, usage };
  };
}
