import { createServer, request as send } from 'node:http';
import { type OpenServer, openServer } from '../../../fixtures/open-server.ts';
import type { Recorded } from './scrub.ts';

/** A request with the status of its response, and the body of a refusal. */
export interface Exchange extends Recorded {
  readonly status: number;
  readonly refusal: string;
}

export interface Recorder extends OpenServer {
  /** Requests with a body since the last call. */
  take(): Exchange[];
}

/** A proxy in front of the daemon that keeps requests. */
export async function startRecorder(target: string): Promise<Recorder> {
  let exchanges: Exchange[] = [];
  const { hostname, port } = new URL(target);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const { method, url = '', headers } = request;
    const proxied = send({ hostname, port, method, path: url, headers }, (answer) => {
      const status = answer.statusCode ?? 0;
      response.writeHead(status, answer.headers);
      answer.pipe(response);
      const refusal: Buffer[] = [];
      if (status >= 400) answer.on('data', (chunk: Buffer) => refusal.push(chunk));
      answer.on('end', () => {
        if (method !== 'POST') return;
        const body = JSON.parse(bytes.toString());
        const text = Buffer.concat(refusal).toString();
        exchanges.push({ path: url, headers, body, status, refusal: text });
      });
    });
    proxied.on('error', (error) => response.destroy(error));
    proxied.end(bytes);
  });
  return {
    ...(await openServer(server)),
    take() {
      const taken = exchanges;
      exchanges = [];
      return taken;
    },
  };
}
