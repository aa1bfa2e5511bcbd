import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { valueOr } from '../../src/flow.ts';
import { openServer } from '../fixtures/open-server.ts';
import { answerAs, type Interface, newShop, type Shop } from './mock-answers.ts';
import type { Answer, Jobs, Received, ReceivedPart } from './mock-request.ts';

/** How one request is answered. What is not said is as the interface has it. */
export interface Behaviour {
  /** Before the headers: milliseconds, or until a promise settles. */
  readonly wait?: number | Promise<unknown>;
  /** Instead of an answer: no word at all, or a connection that is reset. */
  readonly fault?: 'silence' | 'reset';
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The content type. */
  readonly type?: string;
  /** An object goes as JSON. */
  readonly body?: object | string | Buffer;
  /** Sends the body in so many pieces, with a pause of some milliseconds before each. */
  readonly trickle?: { readonly pieces: number; readonly pause: number };
  /** Sends so much of the body as a share of 1 and then goes away, or says nothing more. */
  readonly stopAt?: { readonly share: number; readonly end: 'reset' | 'silence' };
}

/** A mock media provider on its own port, which behaves correctly unless a test sets another behaviour. */
export interface MockProvider {
  /** Where its interface begins, /v1 included. */
  readonly url: string;
  /** What it got since the last `reset`. */
  readonly requests: readonly Received[];
  /** What it got at an endpoint: `POST /images/generations`, `GET /videos/:id`. */
  to(endpoint: string): readonly Received[];
  /** The one request that it got. */
  only(): Received;
  /** Resolves with a request to an endpoint, by its number from 0. */
  received(endpoint: string, index?: number): Promise<Received>;
  /** The next requests to an endpoint, one each; further ones find it well-behaved again. */
  next(endpoint: string, ...behaviours: Behaviour[]): void;
  /** Every request to an endpoint, once those for the next ones are used up. */
  always(endpoint: string, behaviour: Behaviour): void;
  /** How what is made from now on goes. */
  jobs(jobs: Jobs): void;
  /** How images are answered from now on; base64 unless said. */
  images(as: 'b64_json' | 'url'): void;
  /** What it has made: jobs, tasks and files. */
  readonly shop: Shop;
  /** Well-behaved again, without a past. */
  reset(): void;
  close(): Promise<void>;
}

/** @param speaks OpenAI's interface, or that of another gateway of ours */
export async function startMockProvider(speaks: Interface = 'openai'): Promise<MockProvider> {
  let requests: Received[] = [];
  let watchers: (() => void)[] = [];
  const scripted = new Map<string, Behaviour[]>();
  const lasting = new Map<string, Behaviour>();
  let shop = newShop(speaks);

  const server = createServer((request, response) => {
    const closed = new Promise<'whole' | 'cut'>((resolve) => {
      response.once('close', () => resolve(response.writableFinished ? 'whole' : 'cut'));
    });
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', headers } = request;
      const path = (request.url ?? '').split('?', 1)[0]!.replace(/^\/v1/, '');
      const body = Buffer.concat(chunks);
      const answered = async () => {
        const parts = await partsOf(headers['content-type'], body);
        const received = { method, path, headers, body, json: parse(body), parts, closed };
        requests.push(received);
        for (const watch of watchers) watch();
        const endpoint = endpointOf(received);
        const behaviour = scripted.get(endpoint)?.shift() ?? lasting.get(endpoint) ?? {};
        await behave(behaviour, () => answerAs(shop, received), response);
      };
      answered().catch((error: unknown) => response.destroy(error as Error));
    });
  });
  const { url: origin, close } = await openServer(server);
  shop.origin = origin;
  const to = (endpoint: string) => requests.filter((request) => endpointOf(request) === endpoint);

  return {
    url: `${origin}/v1`,
    close,
    get requests() {
      return requests;
    },
    get shop() {
      return shop;
    },
    to,
    only() {
      if (requests.length !== 1)
        throw new Error(`not one request: ${requests.map(endpointOf).join(', ')}`);
      return requests[0]!;
    },
    received: (endpoint, index = 0) =>
      new Promise((resolve) => {
        const look = () => {
          const found = to(endpoint)[index];
          if (!found) return;
          watchers = watchers.filter((watch) => watch !== look);
          resolve(found);
        };
        watchers.push(look);
        look();
      }),
    next(endpoint, ...behaviours) {
      scripted.set(endpoint, [...(scripted.get(endpoint) ?? []), ...behaviours]);
    },
    always(endpoint, behaviour) {
      lasting.set(endpoint, behaviour);
    },
    jobs(jobs) {
      shop.jobs = jobs;
    },
    images(as) {
      shop.imagesAs = as;
    },
    reset() {
      requests = [];
      scripted.clear();
      lasting.clear();
      shop = newShop(speaks, origin);
    },
  };
}

/** `GET /videos/:id/content`. */
function endpointOf({ method, path }: Pick<Received, 'method' | 'path'>): string {
  return `${method} ${path.replace(/^\/(videos|tasks|files)\/(?!generations$)[^/]+/, '/$1/:id')}`;
}

async function behave(
  behaviour: Behaviour,
  usual: () => Answer,
  response: ServerResponse,
): Promise<void> {
  const { wait, fault, trickle, stopAt } = behaviour;
  await (typeof wait === 'number' ? delay(wait) : wait);
  if (fault === 'reset') response.socket?.resetAndDestroy();
  if (fault !== undefined || response.destroyed) return;
  // A behaviour with its own body replaces the usual answer.
  const own = behaviour.body === undefined && behaviour.status === undefined;
  const answer: Answer = own ? usual() : { status: 200, body: behaviour.body ?? '' };
  const bytes = bytesOf(answer.body);
  const type = behaviour.type ?? answer.type ?? typeOf(answer.body);
  response.writeHead(behaviour.status ?? answer.status ?? 200, {
    'content-type': type,
    'content-length': bytes.length,
    ...answer.headers,
    ...behaviour.headers,
  });
  if (stopAt) {
    const part = bytes.subarray(0, Math.floor(bytes.length * stopAt.share));
    await new Promise((resolve) => response.write(part, resolve));
    // What was written is to arrive before the reset does.
    if (stopAt.end === 'reset') await delay(20);
    if (stopAt.end === 'reset') response.socket?.resetAndDestroy();
    return;
  }
  const size = Math.ceil(bytes.length / (trickle?.pieces ?? 1)) || 1;
  for (let at = 0; trickle && at < bytes.length && !response.destroyed; at += size) {
    await delay(trickle.pause);
    response.write(bytes.subarray(at, at + size));
  }
  response.end(trickle ? undefined : bytes);
}

function bytesOf(body: Answer['body']): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function typeOf(body: Answer['body']): string {
  if (Buffer.isBuffer(body)) return 'application/octet-stream';
  return typeof body === 'string' ? 'text/html; charset=utf-8' : 'application/json';
}

function parse(body: Buffer): unknown {
  return valueOr(() => JSON.parse(body.toString()), null);
}

/** Read by the platform's own parser, so that a form which it refuses fails its test. */
async function partsOf(type: string | undefined, body: Buffer): Promise<ReceivedPart[]> {
  if (!type?.startsWith('multipart/form-data')) return [];
  const form = await new Response(new Uint8Array(body), {
    headers: { 'content-type': type },
  }).formData();
  const parts: ReceivedPart[] = [];
  for (const [name, value] of form) {
    const isText = typeof value === 'string';
    parts.push({
      name,
      value: isText ? value : null,
      filename: isText ? null : value.name,
      type: isText ? null : value.type,
      bytes: isText ? Buffer.from(value) : Buffer.from(await value.arrayBuffer()),
    });
  }
  return parts;
}
