import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listening } from '../../fixtures/server.ts';

/** One request that came. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Of JSON, or of a form: texts, and of files their names and sizes. Undefined where nothing was sent. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/** A daemon as far as a client sees it. */
export interface MockDaemon {
  readonly url: string;
  readonly asked: readonly Asked[];
  /** What came for a path, in order. */
  readonly of: (path: string) => Asked[];
}

/** Starts a server whose answers are a test's own. */
export async function mockDaemon(
  answer: (asked: Asked, response: ServerResponse) => unknown,
): Promise<MockDaemon> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const one = { method, path, headers, body: await bodyOf(request) };
    asked.push(one);
    await answer(one, response);
  });
  const of = (path: string) => asked.filter((one) => one.path === path);
  return { url: await listening(server), asked, of };
}

async function bodyOf(request: IncomingMessage): Promise<Asked['body']> {
  const bytes = Buffer.concat(await request.toArray());
  if (bytes.length === 0) return undefined;
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/')) return JSON.parse(bytes.toString());
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  const fields: Record<string, unknown> = {};
  for (const name of new Set(form.keys())) {
    const values = form.getAll(name).map((value) => {
      return typeof value === 'string' ? value : fileOf(value);
    });
    fields[name] = values.length === 1 ? values[0] : values;
  }
  return fields;
}

const fileOf = ({ name, size, type }: File) => ({ name, size, type });

export function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
