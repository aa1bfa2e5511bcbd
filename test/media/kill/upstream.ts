import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import sharp from 'sharp';
import { openServer } from '../../fixtures/open-server.ts';
import { gate } from '../../gate.ts';
import { MANNERS, type Manner } from './client-requests.ts';
import type { Random } from './random.ts';

/** A provider of images that does with each order what its prompt says. */
export interface Upstream {
  /** Where its interface begins, /v1 included. */
  readonly url: string;
  /** How many images it has given away. */
  readonly made: () => number;
  /** Answers with images to requests with a prompt. */
  answersTo(prompt: string): number;
  /** Holds answers back until the returned function is called. */
  hold(): () => void;
  /** Resolves when that many further orders have come. */
  orders(count: number): Promise<void>;
  close(): Promise<void>;
}

interface Wanted {
  readonly prompt: string;
  readonly size: string;
  readonly n: number;
}

export async function startUpstream(random: Random): Promise<Upstream> {
  let made = 0;
  let watchers: { left: number; resolve: () => void }[] = [];
  const seen = new Set<string>();
  const answers = new Map<string, number>();
  let held = Promise.resolve();

  const give = (response: ServerResponse, status: number, body: object | string, more = {}) => {
    const isText = typeof body === 'string';
    const headers = { 'content-type': isText ? 'text/html' : 'application/json', ...more };
    response.writeHead(status, headers).end(isText ? body : JSON.stringify(body));
  };

  const fill = async (response: ServerResponse, { prompt, size, n }: Wanted) => {
    const manner = mannerOf(prompt);
    await delay(manner === 'slowly' ? random.whole(50, 250) : random.whole(0, 30));
    await held;
    const isNew = !seen.has(prompt);
    seen.add(prompt);
    if (manner === 'later' && isNew) {
      const error = { message: 'too many at once', type: 'rate_limit_error' };
      give(response, 429, { error }, { 'retry-after': '0' });
    } else if (manner === 'badly') {
      const error = { message: 'this cannot be drawn', type: 'invalid_request_error' };
      give(response, 400, { error });
    } else if (manner === 'brokenly') {
      give(response, 200, '<html><title>It works!</title></html>');
    } else {
      const count = manner === 'partly' ? Math.max(1, n - 1) : n;
      const b64_json = await picture(size);
      made += count;
      answers.set(prompt, (answers.get(prompt) ?? 0) + 1);
      give(response, 200, {
        created: 1,
        data: Array.from({ length: count }, () => ({ b64_json })),
      });
    }
  };

  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    // A daemon that is killed takes its connections along.
    request.on('error', () => {});
    response.on('error', () => {});
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const wanted = wantedOf(request.url!, Buffer.concat(pieces));
      for (const watcher of watchers) {
        watcher.left -= 1;
        if (watcher.left === 0) watcher.resolve();
      }
      watchers = watchers.filter(({ left }) => left > 0);
      void fill(response, wanted);
    });
  });
  const { url, close } = await openServer(server);
  return {
    url: `${url}/v1`,
    close,
    made: () => made,
    answersTo: (prompt) => answers.get(prompt) ?? 0,
    hold: () => {
      const { passed, open } = gate();
      held = passed;
      return open;
    },
    orders: (left) => new Promise<void>((resolve) => watchers.push({ left, resolve })),
  };
}

function wantedOf(path: string, body: Buffer): Wanted {
  if (!path.endsWith('/edits')) {
    const { prompt, size, n = 1 } = JSON.parse(body.toString()) as Wanted;
    return { prompt, size, n };
  }
  const text = body.toString('latin1');
  const field = (name: string) => text.split(`name="${name}"\r\n`)[1]?.split('\r\n')[1];
  return { prompt: field('prompt')!, size: field('size')!, n: Number(field('n') ?? 1) };
}

function mannerOf(prompt: string): Manner {
  const manner = MANNERS.find((name) => prompt.endsWith(`do it ${name}`));
  if (manner === undefined) throw new Error(`an unknown request: ${prompt}`);
  return manner;
}

const pictures = new Map<string, Promise<string>>();

/** A PNG of a size, as base64. */
function picture(size: string): Promise<string> {
  const [width, height] = size.split('x').map(Number) as [number, number];
  const known = pictures.get(size) ?? draw(width, height).then((bytes) => bytes.toString('base64'));
  pictures.set(size, known);
  return known;
}

export function draw(width: number, height: number): Promise<Buffer> {
  const background = { r: 40, g: 90, b: 160 };
  return sharp({ create: { width, height, channels: 3, background } })
    .png()
    .toBuffer();
}
