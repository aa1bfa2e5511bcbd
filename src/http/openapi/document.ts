import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addEndpoint } from '../request/endpoint.ts';
import { matchesTag } from '../responses/range.ts';

/** A JSON document in memory: all responses share its bytes. */
export class JsonDocument {
  readonly #bytes: Buffer;
  readonly #tag: string;

  constructor(text: string) {
    this.#bytes = Buffer.from(text);
    this.#tag = `"${createHash('sha256').update(this.#bytes).digest('base64url')}"`;
  }

  /** Sends the document, or 304 if the client has it. */
  send({ headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
    reply.headers({ etag: this.#tag, 'cache-control': 'no-cache' });
    if (matchesTag(headers['if-none-match'], this.#tag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(this.#bytes);
  }
}

/** Serves `/openapi.json`. */
export function documentRoute(server: FastifyInstance, document: () => JsonDocument): void {
  addEndpoint(server, {
    path: 'GET /openapi.json',
    tag: 'Operation',
    summary: 'This document',
    isPublic: true,
    answer: { type: 'object', description: 'OpenAPI 3.1', additionalProperties: true },
    handler: async (request, reply) => document().send(request, reply),
  });
}
