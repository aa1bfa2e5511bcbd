import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A piece of the toy format: words, thoughts or a call. */
export type Piece = Readonly<Record<string, unknown>>;

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly body: any;
}

export interface Answer {
  readonly pieces: readonly Piece[];
  readonly why?: string;
  /** Pieces after which a stream ends without its last event. */
  readonly breakAfter?: number;
  /** An error response instead of the pieces. */
  readonly refuse?: { readonly status: number; readonly body: object };
}

/** An upstream that speaks only the toy format. */
export interface ToyUpstream {
  readonly url: string;
  readonly requests: readonly Received[];
  /** The next requests are answered by these, one each. */
  play(...answers: Answer[]): void;
  close(): void;
}

const COUNT = { read: 23, written: 11 };
const BY = 'toy-2026';

export async function startToyUpstream(): Promise<ToyUpstream> {
  let answers: Answer[] = [];
  let requests: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url!;
    const body = JSON.parse(Buffer.concat(chunks).toString());
    requests.push({ path, headers: request.headers, body });
    const { pieces, why = 'done', breakAfter, refuse } = answers.shift()!;
    if (refuse) {
      response.writeHead(refuse.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(refuse.body));
      return;
    }
    if (path.endsWith('/whole')) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ said: pieces, by: BY, why, count: COUNT }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const end = breakAfter === undefined ? [{ by: BY, why, count: COUNT }] : [];
    for (const piece of [...pieces.slice(0, breakAfter), ...end]) {
      response.write(`data: ${JSON.stringify({ by: BY, ...piece })}\n\n`);
    }
    response.end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get requests() {
      return requests;
    },
    play(...next) {
      answers = next;
      requests = [];
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
