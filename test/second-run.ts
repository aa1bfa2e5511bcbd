import { createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** Whether suites run a second time from cassettes: the project of `npm run test:cassettes`. */
export const RUNS_TWICE = process.env['ORIEL_TWICE'] !== undefined;

/** Requests for models, whose answers come from providers. */
const FROM_PROVIDERS =
  /^\/v1\/(?:audio|chat\/completions|completions|embeddings|images|messages|moderations|responses)|^\/v1beta\/models\//;

/** A request of a client, and the answer that it got. */
interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  status: number;
  answer: string;
  /** Whether the client left, or the daemon closed the connection. */
  isCut: boolean;
}

/** A server before a daemon that keeps what clients send and get. */
export async function keepExchanges(target: string) {
  const exchanges: Exchange[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const { method = 'GET', url: path = '', headers } = incoming;
    const body = Buffer.concat(parts);
    const kept = { method, path, headers, body, status: 0, answer: '', isCut: true };
    if (FROM_PROVIDERS.test(path)) exchanges.push(kept);
    const forwarded = send(new URL(path, target), { method, headers }, (response) => {
      kept.status = response.statusCode!;
      outgoing.writeHead(kept.status, response.headers);
      outgoing.flushHeaders();
      response.on('data', (chunk: Buffer) => {
        kept.answer += chunk.toString('latin1');
        outgoing.write(chunk);
      });
      response.on('end', () => {
        kept.isCut = false;
        outgoing.end();
      });
      response.on('error', () => outgoing.destroy());
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    forwarded.end(body);
  });
  server.keepAliveTimeout = 600_000;
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, exchanges, close: () => server.close() };
}

/** Identifiers and times of an answer, which another run makes anew. */
const VOLATILE =
  /\b(?:[a-z]{2,10}[_-]){1,2}[A-Za-z0-9]{16,}\b|"(?:created|created_at|completed_at)":\d+/g;

/** Sends requests again, and compares each byte of their answers but identifiers and times. */
export async function compareAgain(url: string, exchanges: readonly Exchange[]): Promise<number> {
  // Later requests name identifiers of earlier answers.
  const renamed = new Map<string, string>();
  let compared = 0;
  for (const { method, path, headers, body, status, answer, isCut } of exchanges) {
    const text = body.toString('latin1').replace(VOLATILE, (found) => renamed.get(found) ?? found);
    const again = await sendAgain(url, { method, path, headers }, Buffer.from(text, 'latin1'));
    if (isCut) continue;
    const [before = '', after = ''] = [answer, again.answer].map(comparable);
    if (status !== again.status || before !== after) {
      let at = 0;
      while (before[at] === after[at]) at += 1;
      const parts = [before, after].map((one) => one.slice(Math.max(0, at - 200), at + 1500));
      throw new Error(
        `${method} ${path} of ${body.toString().slice(0, 1000)}\nrecorded ${status}: …${parts[0]}\nreplayed ${again.status}: …${parts[1]}`,
      );
    }
    const found = again.answer.match(VOLATILE) ?? [];
    for (const [index, id] of (answer.match(VOLATILE) ?? []).entries())
      renamed.set(id, found[index]!);
    compared += 1;
  }
  return compared;
}

function comparable(answer: string): string {
  const text = answer
    .replace(VOLATILE, 'ID')
    .replaceAll(': keep-alive\n\n', '')
    .replace(/\*{8,}/g, '[key]');
  if (!text.includes('"choices":[{"index":1')) return text;
  // Several answers stream at once: which comes first, and how much before another fails, is a race.
  const events = text.split('\n\n');
  const errors = events.filter((event) => event.startsWith('data: {"error"'));
  const indexOf = (event: string) => Number(/"choices":\[\{"index":(\d+)/.exec(event)?.[1] ?? 99);
  const used = errors.length > 0 ? errors : events.toSorted((a, b) => indexOf(a) - indexOf(b));
  return used.join('\n\n');
}

function sendAgain(
  url: string,
  { method, path, headers }: Pick<Exchange, 'method' | 'path' | 'headers'>,
  body: Buffer,
): Promise<{ readonly status: number; readonly answer: string }> {
  const { host: _, 'content-length': __, 'transfer-encoding': ___, ...others } = headers;
  return new Promise((resolve, reject) => {
    const options = { method, headers: { ...others, 'content-length': body.length }, agent: false };
    const request = send(new URL(path, url), options as object, (response) => {
      let answer = '';
      response.setEncoding('latin1');
      response.on('data', (chunk: string) => {
        answer += chunk;
      });
      response.on('close', () => resolve({ status: response.statusCode!, answer }));
      response.on('error', () => {});
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** The folder of a daemon's cassettes. */
export const cassettesIn = (data: string) => join(data, 'cassettes');

/** A configuration whose providers are at a port on which nothing listens. */
export function withoutNetwork(config: object): object {
  const closed = (_: string, value: unknown) =>
    typeof value === 'string' ? value.replace(/^(http:\/\/127\.0\.0\.1):\d+/, '$1:9') : value;
  return JSON.parse(JSON.stringify(config), closed);
}
