import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { matchesTag } from './range.ts';

/**
 * Content-Security-Policy of the page. Not `upgrade-insecure-requests`: over plain HTTP by any name but
 * localhost it makes browsers ask for scripts over HTTPS.
 */
const CONTENT_POLICY = [
  "default-src 'self'",
  "base-uri 'self'",
  "frame-ancestors 'self'",
  "img-src 'self' data:",
  "object-src 'none'",
  "script-src-attr 'none'",
  // The page styles some of its elements as it draws them.
  "style-src 'self' 'unsafe-inline'",
].join('; ');

/** Files of Swagger UI that the page loads. */
const LIBRARY_FILES = [
  'favicon-16x16.png',
  'favicon-32x32.png',
  'index.css',
  'swagger-ui.css',
  'swagger-ui-bundle.js',
];

/** The page's own script. Addresses are relative to it: the server may be below a path of another. */
const INITIALIZER = `const { src } = document.currentScript;
window.addEventListener('load', () => {
  SwaggerUIBundle({
    dom_id: '#swagger-ui',
    url: new URL('../../openapi.json', src).href,
    deepLinking: true,
    persistAuthorization: false,
  });
});
`;

/** @param folder of the files, relative to the page's address */
function pageOf(folder: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Oriel</title>
<link rel="stylesheet" href="${folder}/swagger-ui.css">
<link rel="stylesheet" href="${folder}/index.css">
<link rel="icon" type="image/png" href="${folder}/favicon-32x32.png" sizes="32x32">
<link rel="icon" type="image/png" href="${folder}/favicon-16x16.png" sizes="16x16">
</head>
<body>
<div id="swagger-ui"></div>
<script src="${folder}/swagger-ui-bundle.js"></script>
<script src="${folder}/swagger-initializer.js"></script>
</body>
</html>
`;
}

const MEDIA_TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
} as const;

/** A file in memory: all responses share its bytes, and none opens a descriptor. */
export class MemoryFile {
  readonly #bytes: Buffer;
  readonly #type: string;
  readonly #tag: string;

  constructor(extension: keyof typeof MEDIA_TYPES, content: string | Buffer) {
    this.#bytes = Buffer.from(content);
    this.#type = MEDIA_TYPES[extension];
    this.#tag = `"${createHash('sha256').update(this.#bytes).digest('base64url')}"`;
  }

  /** Sends the file, or 304 if the client has it. */
  send({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.headers({ etag: this.#tag, 'cache-control': 'no-cache' });
    if (matchesTag(headers['if-none-match'], this.#tag)) return reply.code(304).send();
    return reply.type(this.#type).send(this.#bytes);
  }
}

/** Serves the page `/docs` where there is no console: it reads `/openapi.json` beside it, from memory. */
function docsPage(server: FastifyInstance): void {
  const manifest = createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json');
  const files = new Map([
    ...LIBRARY_FILES.map((name) => {
      const content = readFileSync(join(dirname(manifest), 'static', name));
      return [name, new MemoryFile(extname(name) as '.css' | '.js' | '.png', content)] as const;
    }),
    ['swagger-initializer.js', new MemoryFile('.js', INITIALIZER)] as const,
  ]);
  // Without a slash at its end, the page's address is relative to the folder above it.
  const [page, pageOfFolder] = ['docs/static', 'static'].map(
    (folder) => new MemoryFile('.html', pageOf(folder)),
  );
  const schema = { hide: true };
  server.get('/docs', { schema }, async (request, reply) => {
    const isFolder = request.url.split('?', 1)[0]!.endsWith('/');
    reply.header('content-security-policy', CONTENT_POLICY);
    return (isFolder ? pageOfFolder! : page!).send(request, reply);
  });
  for (const [name, file] of files) {
    server.get(`/docs/static/${name}`, { schema }, async (request, reply) =>
      file.send(request, reply),
    );
  }
}

/** Redirects `/docs` to the console. Relative: a reverse proxy may serve this below a path. */
function docsRedirect(server: FastifyInstance): void {
  server.get('/docs', { schema: { hide: true } }, async ({ url }, reply) => {
    const isFolder = url.split('?', 1)[0]!.endsWith('/');
    return reply.redirect(`${isFolder ? '../' : ''}console/api`);
  });
}

/**
 * Serves `/openapi.json`, and `/docs`, which shows it.
 *
 * @param hasConsole whether the server has the console, which shows it too
 */
export function documentRoutes(
  document: () => MemoryFile,
  hasConsole: boolean,
): FastifyPluginAsync {
  return async (server) => {
    if (hasConsole) docsRedirect(server);
    else docsPage(server);
    server.get('/openapi.json', {
      schema: {
        summary: 'This document',
        tags: ['Operation'],
        security: [],
        response: {
          200: { type: 'object', description: 'OpenAPI 3.1', additionalProperties: true },
        },
      },
      handler: async (request, reply) => document().send(request, reply),
    });
  };
}
