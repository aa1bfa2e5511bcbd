import type { FastifyInstance, FastifyRequest } from 'fastify';
import { codedFailure, type Failure } from '../../failure.ts';
import { formatPath } from '../../schema/faults.ts';
import { invalid } from '../../schema/invalid.ts';
import { structureOf } from '../../schema/json.ts';
import { nextTurn } from '../../turns.ts';
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
