import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { json } from './chat-server.ts';

/** One request that came. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Of JSON, or of a form: texts, and of files their names and sizes. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/** Answers one request; false leaves it to the server. */
type Answering = (asked: Asked, response: ServerResponse) => boolean | Promise<boolean>;

export interface MediaServer {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** What came for a path, in order. */
  readonly of: (path: string) => Asked[];
}

interface Choices {
  /** What is at `/assets/NAME`, by name. */
  readonly assets?: Readonly<Record<string, { bytes: Uint8Array; type: string }>>;
  /** Responses to requests of the task, in order; the last is repeated. */
  readonly looks?: readonly object[];
  readonly answer?: Answering;
}

const CATALOG = {
  object: 'list',
  data: [
    { id: 'talk', type: 'text' },
    { id: 'paint', type: 'image' },
    { id: 'paint-more', type: 'image' },
    { id: 'film', type: 'video' },
    { id: 'speak', type: 'audio' },
  ],
};

/** A whole task record that says what a test wants. */
export function record(changes: object): object {
  const nothing = { result: null, error: null };
  return {
    task_id: 'task_1',
    status: 'completed',
    model: 'paint',
    type: 'image',
    ...nothing,
    ...changes,
  };
}

/** The record of a completed image task. */
export function pictures(...urls: string[]): object {
  return record({ result: { created: 1, data: urls.map((url) => ({ url })) } });
}

async function bodyOf(request: IncomingMessage): Promise<Asked['body']> {
  const pieces: Buffer[] = [];
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
  if (pieces.length === 0) return undefined;
  const bytes = Buffer.concat(pieces);
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/')) return JSON.parse(bytes.toString());
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const fields: Record<string, unknown> = {};
  for (const name of new Set(form.keys())) {
    const values = form
      .getAll(name)
      .map((value) =>
        typeof value === 'string'
          ? value
          : { name: value.name, size: value.size, type: value.type },
      );
    fields[name] = values.length === 1 ? values[0] : values;
  }
  return fields;
}

/** A daemon as far as a client of media tasks sees it. */
export async function mediaServer({
  assets = {},
  looks = [],
  answer,
}: Choices = {}): Promise<MediaServer> {
  const asked: Asked[] = [];
  const left = [...looks];
  let uploads = 0;
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const one = { method, path, headers, body: await bodyOf(request) };
    asked.push(one);
    if (await answer?.(one, response)) return;
    const asset = assets[path.replace('/assets/', '')];
    if (path === '/v1/models') return json(response, CATALOG);
    if (asset) return void response.writeHead(200, { 'content-type': asset.type }).end(asset.bytes);
    if (path === '/v1/images/upload') {
      uploads += 1;
      return json(response, { url: `http://${headers.host}/assets/upload-${uploads}.png` });
    }
    if (method === 'POST') {
      const created = { task_id: 'task_1', status: 'pending', model: 'paint' };
      return json(response, { ...created, poll_url: '/v1/tasks/task_1' }, 202);
    }
    const look = left.length > 1 ? left.shift() : left[0];
    if (path === '/v1/tasks/task_1' && look) return json(response, look);
    json(response, { error: { type: 'invalid_request', message: 'there is no such thing' } }, 404);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    of: (path) => asked.filter((one) => one.path === path),
  };
}
