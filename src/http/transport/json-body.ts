import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { codedFailure, type Failure } from '../../failure.ts';
import { nextTurn } from '../../flow.ts';
import { formatPath } from '../../schema/faults.ts';
import { invalid } from '../../schema/invalid.ts';
import { structureOf } from '../../schema/json.ts';
import { overloaded } from '../responses/errors.ts';
import { LARGE, type MemoryShares } from './memory-shares.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Reserves bytes for its account beside those of the body's text; null before there is an account. */
    reserveMemory: ((bytes: number) => void) | null;
  }
}

/** Memory of each unit of cost of a parsed body (`structureOf`): 64 bytes for an empty object, which costs 3. */
const BYTES_PER_COST = 24;

/** Bytes of the pieces in which a large body waits for its end: each of its chunks would take hundreds beside its own. */
const PIECE = 64 * 1024;

/** Joins the chunks of large bodies, of which a client may send ten million with a byte each. */
export function joinChunks(server: FastifyInstance): void {
  server.addHook('preParsing', ({ headers, routeOptions }, _reply, payload, next) => {
    const { bodyLimit: limit, config } = routeOptions;
    // Fastify refuses a longer one before it reads.
    const length = headers['transfer-encoding'] ? limit : Number(headers['content-length']);
    const isLarge = length > PIECE && length <= limit;
    // Forms and uploads go to the disk.
    const isJson = /^application\/json\b/i.test(headers['content-type'] ?? '');
    next(null, isLarge && isJson && !config.isUpload ? joined(payload, limit) : payload);
  });
}

/** @param limit of the body, whose reader fails beyond it and takes no more */
function joined(payload: Readable, limit: number): Readable {
  let piece = Buffer.alloc(0);
  let [size, total] = [0, 0];
  const pieces = new Readable({ read() {} });
  const flush = () => {
    if (size > 0) pieces.push(piece.subarray(0, size));
    size = 0;
  };
  payload.on('data', (chunk: Buffer) => {
    if (total > limit + PIECE) return;
    total += chunk.length;
    if (size + chunk.length > PIECE) flush();
    if (size === 0) piece = Buffer.allocUnsafe(Math.max(PIECE, chunk.length));
    size += chunk.copy(piece, size);
  });
  payload.once('end', () => {
    flush();
    pieces.push(null);
  });
  payload.on('error', (error) => pieces.destroy(error));
  // A reader that has failed no longer listens, and the client may leave after that.
  pieces.on('error', () => {});
  return pieces;
}

/** Parses JSON bodies with Fastify's parser, after checking that their structure is within limits. */
export function parseJsonBodies(server: FastifyInstance, shares: MemoryShares): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  const check = (request: FastifyRequest, body: string) => {
    if (!shares.hasRoomToParse(body.length)) {
      throw overloaded('there is too little free memory for a request of this size');
    }
    const { cost, fault } = structureOf(body);
    if (fault !== null) {
      const { code, message, member } = fault;
      if (member !== null) throw invalid(formatPath([member]), message, code);
      throw codedFailure(code, `the body: ${message}`);
    }
    // A request holds its parsed body while it waits for a provider.
    if (cost * BYTES_PER_COST >= LARGE) request.reserveMemory?.(cost * BYTES_PER_COST);
  };
  server.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, body, done) => {
      const read = () => {
        try {
          check(request, body);
        } catch (error) {
          return done(error as Failure);
        }
        parse(request, body, done);
      };
      // Large bodies that arrive together are parsed in one turn of the event loop each.
      if (body.length < LARGE) read();
      else nextTurn().then(read);
    },
  );
}
