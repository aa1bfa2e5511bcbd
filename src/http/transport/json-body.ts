import type { FastifyInstance } from 'fastify';
import { Failure } from '../../failure.ts';
import { formatPath } from '../../schema/faults.ts';
import { structureFault } from '../../schema/json.ts';
import { overloaded } from '../errors.ts';
import type { MemoryShares } from './memory-shares.ts';

/** Parses JSON bodies with Fastify's parser, after checking that their structure is within limits. */
export function parseJsonBodies(server: FastifyInstance, shares: MemoryShares): void {
  const parse = server.getDefaultJsonParser('error', 'error');
  server.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, body, done) => {
      if (!shares.hasRoomToParse(body.length)) {
        done(overloaded('there is too little free memory for a request of this size'));
        return undefined;
      }
      const fault = structureFault(body);
      if (fault === null) return parse(request, body, done);
      const param = fault.member === null ? null : formatPath([fault.member]);
      const where = param ?? 'the body';
      const { code, message } = fault;
      done(
        new Failure('invalid_request', `${where}: ${message}`, { code, ...(param && { param }) }),
      );
      return undefined;
    },
  );
}
