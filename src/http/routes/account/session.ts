import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { withDefault } from '../../../schema/fields.ts';
import { PLANS } from '../../../store/account.ts';
import type { KeyHolder } from '../../../store/store.ts';
import type { AppContext } from '../../request/app-context.ts';
import { isOwner, keyFailure } from '../../request/auth.ts';
import { addEndpoint } from '../../request/endpoint.ts';
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
export function signInRoute(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'POST /v1/session',
    tag: 'Account',
    summary: 'Exchange the API key for a session cookie, for browsers',
    config: { keyOnly: true },
    query: pathQuery,
    answer: sessionShape,
    handler: async (request, reply) => {
      if (request.headers.origin !== undefined) refuseOtherOrigins(context, request);
      const expiresAt = await beginSession(context, request, reply, request.query.path);
      reply.header('cache-control', 'no-store');
      return sessionOf(request.holder, expiresAt);
    },
  });
}

/**
 * The session of a browser, to see and to end. Without a session it is no error, since pages ask whether
 * there is one.
 */
export function sessionRoutes(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'GET /v1/session',
    tag: 'Account',
    summary: 'The account and the key of the session cookie; null without a session',
    isPublic: true,
    answer: sessionShape,
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const found = await findSession(context, request);
      if (!found || keyFailure(found.holder.key, context.store.now) !== null) return NO_SESSION;
      refuseOtherOrigins(context, request);
      return sessionOf(found.holder, found.expiresAt);
    },
  });

  addEndpoint(server, {
    path: 'DELETE /v1/session',
    tag: 'Account',
    summary: 'End the session of the session cookie',
    isPublic: true,
    query: pathQuery,
    answer: sessionShape,
    handler: async (request, reply) => {
      if (await findSession(context, request)) refuseOtherOrigins(context, request);
      await endSession(context, request, reply, request.query.path);
      return NO_SESSION;
    },
  });
}
