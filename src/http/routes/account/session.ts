import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { withDefault } from '../../../schema/fields.ts';
import { PLANS } from '../../../store/account.ts';
import type { KeyHolder } from '../../../store/store.ts';
import type { AppContext } from '../../request/app-context.ts';
import { isOwner, keyFailure } from '../../request/auth.ts';
import { seconds } from '../../request/query.ts';
import {
  beginSession,
  endSession,
  findSession,
  refuseOtherOrigins,
} from '../../request/session.ts';

const sessionShape = v.object({
  object: v.literal('session'),
  account: v.nullable(v.object({ id: v.string(), name: v.string(), plan: v.picklist(PLANS) })),
  key: v.nullable(v.object({ id: v.string(), name: v.string() })),
  owner: v.boolean(),
  expires: v.nullable(v.number()),
});

export type SessionAnswer = v.InferOutput<typeof sessionShape>;

const pathQuery = v.strictObject({
  path: withDefault(
    v.pipe(v.string(), v.regex(/^\/[\x21-\x3a\x3c-\x7e]*$/), v.maxLength(256)),
    '/',
    'path of the cookie, for a server below a path of another',
    { expects: 'a path that begins with /' },
  ),
});

type Query = { Querystring: v.InferOutput<typeof pathQuery> };

const NO_SESSION: SessionAnswer = {
  object: 'session',
  account: null,
  key: null,
  owner: false,
  expires: null,
};

/** @param expiresAt in milliseconds since the epoch; null for a key */
function sessionOf(holder: KeyHolder, expiresAt: number | null): SessionAnswer {
  const { account, key } = holder;
  return {
    object: 'session',
    account: { id: account.id, name: account.name, plan: account.plan },
    key: { id: key.id, name: key.name },
    owner: isOwner(holder),
    expires: expiresAt === null ? null : seconds(expiresAt),
  };
}

/** Signs browsers in: an API key is exchanged for a cookie that no script can read. */
export function signInRoute(context: AppContext): FastifyPluginAsync {
  return async (server) => {
    server.post<Query>('/v1/session', {
      // A session must not prolong itself.
      config: { keyOnly: true },
      schema: {
        summary: 'Exchange the API key for a session cookie, for browsers',
        tags: ['Account'],
        querystring: pathQuery,
        response: { 200: sessionShape },
      },
      handler: async (request, reply): Promise<SessionAnswer> => {
        if (request.headers.origin !== undefined) refuseOtherOrigins(context, request);
        const expiresAt = await beginSession(context, request, reply, request.query.path);
        reply.header('cache-control', 'no-store');
        return sessionOf(request.holder, expiresAt);
      },
    });
  };
}

/**
 * The session of a browser, to see and to end. Without a session it is no error, since pages ask whether
 * there is one.
 */
export function sessionRoutes(context: AppContext): FastifyPluginAsync {
  return async (server) => {
    server.get('/v1/session', {
      schema: {
        summary: 'The account and the key of the session cookie; null without a session',
        tags: ['Account'],
        security: [],
        response: { 200: sessionShape },
      },
      handler: async (request, reply): Promise<SessionAnswer> => {
        reply.header('cache-control', 'no-store');
        const found = await findSession(context, request);
        if (!found || keyFailure(found.holder.key, context.store.now) !== null) return NO_SESSION;
        refuseOtherOrigins(context, request);
        return sessionOf(found.holder, found.expiresAt);
      },
    });

    server.delete<Query>('/v1/session', {
      schema: {
        summary: 'End the session of the session cookie',
        tags: ['Account'],
        security: [],
        querystring: pathQuery,
        response: { 200: sessionShape },
      },
      handler: async (request, reply): Promise<SessionAnswer> => {
        if (await findSession(context, request)) refuseOtherOrigins(context, request);
        await endSession(context, request, reply, request.query.path);
        return NO_SESSION;
      },
    });
  };
}
