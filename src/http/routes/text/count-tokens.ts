import type { FastifyInstance, FastifyReply } from 'fastify';
import { ESTIMATE_HEADER } from '../../../text/counting/token-counter.ts';
import { allDialects } from '../../../text/dialects/registry.ts';
import { IGNORED_HEADER, pathsHeader } from '../../../text/execution/execution.ts';
import type { AppContext } from '../../request/app-context.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { addTextEndpoint, type TextHttpRequest } from './text.ts';

/** The endpoints of text dialects that count tokens. They are free, and counted by the rate limit. */
export function tokenCountRoutes(server: FastifyInstance, { tokenCounter }: AppContext): void {
  for (const { name, requestIdHeader, counting } of allDialects()) {
    if (counting === undefined) continue;
    const handler = async (request: TextHttpRequest, reply: FastifyReply) => {
      if (requestIdHeader !== undefined) reply.header(requestIdHeader, request.id);
      const { answer, isEstimate, ignored } = await tokenCounter.count({
        requestId: request.id,
        dialect: name,
        address: { model: request.params.model ?? null, stream: false },
        body: request.body,
        headers: request.headers,
        holder: request.holder,
        signal: disconnectSignal(reply),
      });
      if (isEstimate) reply.header(ESTIMATE_HEADER, 'true');
      if (ignored.length > 0) reply.header(IGNORED_HEADER, pathsHeader(ignored));
      return answer;
    };
    addTextEndpoint(server, counting.endpoint, { handler });
  }
}
