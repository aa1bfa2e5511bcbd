import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Undefined where nothing was sent. */
  readonly body: { readonly [name: string]: unknown } | undefined;
}

/** Answers one request; the server answers what a test leaves out. */
export type Answering = (asked: Asked, response: ServerResponse) => void | Promise<void>;

export interface ChatServer {
  readonly url: string;
  readonly asked: readonly Asked[];
}

export const CATALOG = {
  object: 'list',
  data: [
    { id: 'pictures', type: 'image', pricing: { per_image: 0.04 } },
    {
      id: 'first-text',
      aliases: ['first'],
      type: 'text',
      pricing: { input_per_million_tokens: 1, output_per_million_tokens: 4 },
      capability_metadata: { reasoning: { supported_efforts: ['low', 'high'] } },
    },
  ],
};

export function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** One event of a stream. */
export function event(data: unknown): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

export function chunk(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm', choices });
}

/** A whole stream that says these texts. */
export function stream(response: ServerResponse, ...texts: string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': keep-alive\n\n');
  response.write(chunk({ role: 'assistant', content: '' }));
  for (const content of texts) response.write(chunk({ content }));
  response.end(chunk({}, 'stop') + event('[DONE]'));
}

/** A daemon as far as a client sees it, whose answers are a test's own. */
export async function chatServer(answer: Answering): Promise<ChatServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const bytes: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) bytes.push(piece);
    const text = Buffer.concat(bytes).toString();
    const { url: path = '', headers } = request;
    const one = { path, headers, body: text === '' ? undefined : JSON.parse(text) };
    asked.push(one);
    if (path === '/v1/models') json(response, CATALOG);
    else await answer(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** A server that begins an answer and does not end it. @returns with `left`, which resolves when the client disconnects */
export async function endlessChatServer(): Promise<ChatServer & { readonly left: Promise<void> }> {
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const server = await chatServer((_, response) => {
    response.once('close', leave);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ content: 'Once' }));
  });
  return { ...server, left };
}
