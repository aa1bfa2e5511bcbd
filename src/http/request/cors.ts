import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AppContext } from './app-context.ts';

/** Methods of all endpoints. */
const METHODS = 'GET, HEAD, POST';

type Cors = NonNullable<AppContext['config']['server']['cors']>;

/**
 * Lets web pages of the origins in `server.cors` read a response (Fetch standard, section 3.2). Cookies
 * are never used, so that credentials stay off and `*` may stand for all headers of a response.
 */
export function allowOrigin(
  { config }: AppContext,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): void {
  const { cors } = config.server;
  if (cors === undefined) return;
  const isListed = cors.origins !== '*';
  if (isListed) reply.header('vary', 'origin');
  const { origin } = headers;
  if (origin === undefined || !isAllowed(cors, origin)) return;
  reply.header('access-control-allow-origin', isListed ? origin : '*');
  reply.header('access-control-expose-headers', '*');
}

/** A hook that answers preflight requests, which have no key, before any other hook refuses them. */
export function answerPreflights(context: AppContext) {
  return (request: FastifyRequest, reply: FastifyReply, next: () => void): void => {
    allowOrigin(context, request, reply);
    const { method, headers } = request;
    const { cors } = context.config.server;
    const { origin, 'access-control-request-method': asked } = headers;
    const isPreflight = method === 'OPTIONS' && origin !== undefined && asked !== undefined;
    if (cors === undefined || !isPreflight || !isAllowed(cors, origin)) {
      next();
      return;
    }
    const names = headers['access-control-request-headers'];
    // Named one by one: `*` does not include Authorization.
    if (names !== undefined) reply.header('access-control-allow-headers', names);
    reply
      .header('access-control-allow-methods', METHODS)
      .header('access-control-max-age', Math.floor(cors.maxAge / 1000))
      .header('vary', 'origin, access-control-request-headers')
      .code(204)
      .send();
  };
}

function isAllowed({ origins }: Cors, origin: string): boolean {
  return origins === '*' || origins.includes(origin);
}
