import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { matchesTag } from '../../responses/range.ts';
import { unknownEndpoint } from './unknown.ts';

/**
 * Content-Security-Policy of the console. Not `upgrade-insecure-requests`: over plain HTTP by any name but
 * localhost it makes browsers ask for scripts over HTTPS.
 */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/** Folders in the path of a view. */
const MAX_DEPTH = 8;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Content codings of a file, the smallest first. */
const CODINGS = { br: '.br', gzip: '.gz', identity: '' } as const;

type Send = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

/**
 * Sends a file of the console in a content coding, as the build made it. Its name contains a hash of its content, so
 * that browsers never ask again.
 */
function fileSender(path: string): Send {
  const type = MEDIA_TYPES[extname(path)]!;
  const bodies = Object.entries(CODINGS).map(([coding, end]) => {
    return [coding, readFileSync(path + end)] as const;
  });
  return ({ headers }, reply) => {
    const accepted = headers['accept-encoding'];
    const [coding, bytes] = bodies.find(([one]) => accepts(accepted, one))!;
    reply.headers({ ...HEADERS, 'cache-control': 'public, max-age=31536000, immutable' });
    vary(reply, 'accept-encoding');
    if (coding !== 'identity') reply.header('content-encoding', coding);
    return reply.type(type).send(bytes);
  };
}

/** Whether an `Accept-Encoding` allows a coding (RFC 9110 §12.5.3). */
function accepts(header = '', coding: string): boolean {
  if (coding === 'identity') return true;
  const listed = header.toLowerCase().split(',');
  const found = listed.find((one) => one.split(';', 1)[0]!.trim() === coding);
  return found !== undefined && !/;\s*q=0(\.0*)?\s*$/.test(found);
}

function vary(reply: FastifyReply, name: string): void {
  reply.header('vary', reply.hasHeader('vary') ? `origin, ${name}` : name);
}

/** Sends the page, whose addresses are relative: the server may be below a path of another. */
function pageSender(template: string): Send {
  const hash = createHash('sha256').update(template).digest('base64url');
  return ({ url, headers }, reply) => {
    const path = url.split('?', 1)[0]!;
    const depth = path.split('/').length - 2;
    if (depth > MAX_DEPTH) throw unknownEndpoint(path, false);
    const tag = `"${hash}-${depth}"`;
    reply.headers({
      ...HEADERS,
      'content-security-policy': CONTENT_POLICY,
      'cache-control': 'no-cache',
      etag: tag,
    });
    if (matchesTag(headers['if-none-match'], tag)) return reply.code(304).send();
    const assets = `${'../'.repeat(depth)}console/assets`;
    return reply
      .type('text/html; charset=utf-8')
      .send(Buffer.from(template.replaceAll('%ASSETS%', assets)));
  };
}

/** Serves the console from memory: one page for all addresses of its views, and the files that it loads. */
export function consolePage(server: FastifyInstance): void {
  const index = createRequire(import.meta.url).resolve('#console/index.html');
  const folder = dirname(index);
  const files = new Map(
    readdirSync(folder)
      .filter((name) => Object.hasOwn(MEDIA_TYPES, extname(name)))
      .map((name) => [name, fileSender(join(folder, name))]),
  );
  const sendPage = pageSender(readFileSync(index, 'utf8'));
  const schema = { hide: true };
  for (const path of ['/console', '/console/*']) {
    server.get(path, { schema }, async (request, reply) => sendPage(request, reply));
  }
  server.get<{ Params: { name: string } }>(
    '/console/assets/:name',
    { schema },
    async (request, reply) => {
      const send = files.get(request.params.name);
      if (send) return send(request, reply);
      throw unknownEndpoint(request.url, false);
    },
  );
}
