import { timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { codedFailure, Failure } from '../../failure.ts';
import { type ApiKey, OWNER, statusOf } from '../../store/account.ts';
import type { Actor } from '../../store/audit/entry.ts';
import { hashOf } from '../../store/key.ts';
import type { KeyHolder } from '../../store/store.ts';
import { allDialects } from '../../text/dialects/registry.ts';
import type { RateLimitState } from '../limits/rate-limiter.ts';
import type { AppContext } from './app-context.ts';
import { findSession, hasSession, refuseOtherOrigins } from './session.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The API key and its account. Set before the body is read, on every endpoint that needs a key. */
    holder: KeyHolder;
  }
  interface FastifyContextConfig {
    /** Whether requests of the route do not count against the key's rate limit. */
    uncounted?: boolean;
    /** Whether a session is not accepted in place of the key. */
    keyOnly?: boolean;
  }
}

/** The API key of a request: a bearer token, or a header of a text dialect such as x-api-key. */
function credentialOf(
  { headers }: FastifyRequest,
  keyHeaders: readonly string[],
): string | undefined {
  const { authorization } = headers;
  if (authorization === undefined) {
    for (const name of keyHeaders) {
      const key = headers[name];
      if (typeof key === 'string' && key !== '') return key;
    }
    return undefined;
  }
  const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (token === undefined) {
    throw codedFailure('invalid_api_key', 'Authorization: expected Bearer and an API key');
  }
  return token;
}

/**
 * The failure for an invalid key; null for a valid one.
 *
 * @param now the clock of the store
 */
export function keyFailure(key: ApiKey | undefined, now: number): Failure | null {
  if (!key) {
    return codedFailure('invalid_api_key', 'this API key is not known');
  }
  switch (statusOf(key, now)) {
    case 'revoked':
      return codedFailure('revoked_api_key', 'this API key was revoked');
    case 'expired':
      return codedFailure('expired_api_key', 'this API key has expired');
    case 'active':
      return null;
  }
}

/** Whether a request has a token of the operator as its bearer token. */
export function hasBearerToken(
  { headers }: Pick<FastifyRequest, 'headers'>,
  token: string,
): boolean {
  // timingSafeEqual needs buffers of the same length, which hashes are.
  const received = Buffer.from(hashOf(headers.authorization ?? ''));
  return timingSafeEqual(received, Buffer.from(hashOf(`Bearer ${token}`)));
}

/** Headers of text dialects that have the key. */
function allKeyHeaders(): readonly string[] {
  return allDialects().flatMap(({ keyHeader }) => keyHeader ?? []);
}

/** Whether the key, or the session, of a request that was accepted before is still valid. */
export async function isStillValid(context: AppContext, request: FastifyRequest): Promise<boolean> {
  const found =
    credentialOf(request, allKeyHeaders()) === undefined
      ? (await findSession(context, request))?.holder
      : await context.store.findKey(request.holder.key.hash);
  return found !== undefined && keyFailure(found.key, context.store.now) === null;
}

/** A hook that requires a valid API key, or a session of one, and enforces the key's rate limit. */
export function authenticator(context: AppContext) {
  const { store, limits } = context;
  const keyHeaders = allKeyHeaders();
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const credential = credentialOf(request, keyHeaders);
    if (credential === undefined) {
      request.holder = await sessionHolder(context, request);
    } else {
      const found = await store.findKey(hashOf(credential));
      const failure = keyFailure(found?.key, store.now);
      if (failure !== null) {
        const { failedKeys } = context.config.limits.address;
        await showingRefusal(reply, failedKeys, () =>
          limits.countInvalidKey(request.ip, failedKeys),
        );
        throw failure;
      }
      request.holder = found!;
    }
    const { key, account } = request.holder;
    const own = limitOfConsole(request, credential === undefined);
    const name = own ? `${own.name} ${key.hash}` : key.hash;
    const limit = own?.rpm ?? key.rpm ?? context.config.limits[account.plan].rpm;
    const counts = !request.routeOptions.config.uncounted;
    showLimit(reply, await showingRefusal(reply, limit, () => limits.take(name, limit, counts)));
  };
}

/** Limits of a key in a minute that its programs have no part in. */
const SIGN_INS = { name: 'sign-in', rpm: 60 };
const PAGES = { name: 'console', rpm: 1200 };

/**
 * The limit that a request of the console counts against; undefined for the key's own. Pages must open while programs
 * use up the limit of their key, and must not use it up themselves. What a page asks of models costs the key as usual.
 */
function limitOfConsole({ method, routeOptions }: FastifyRequest, isSession: boolean) {
  const { config, url = '' } = routeOptions;
  if (config.keyOnly) return SIGN_INS;
  const isPage = method === 'GET' || url.startsWith('/v1/admin/');
  return isSession && isPage ? PAGES : undefined;
}

/** Counts a request, and shows the limit that it exceeds on its response. */
async function showingRefusal<Result>(
  reply: FastifyReply,
  limit: number,
  count: () => Result,
): Promise<Awaited<Result>> {
  try {
    return await count();
  } catch (error) {
    const reset = error instanceof Failure ? error.retryAfter : null;
    if (reset !== null) showLimit(reply, { limit, remaining: 0, reset });
    throw error;
  }
}

/** Header names of OpenAI's API; its reset is a duration with a unit. */
function showLimit(reply: FastifyReply, { limit, remaining, reset }: RateLimitState): void {
  reply.header('x-ratelimit-limit-requests', limit);
  reply.header('x-ratelimit-remaining-requests', remaining);
  reply.header('x-ratelimit-reset-requests', `${Math.ceil(reset)}s`);
}

/**
 * The holder of the key that a request's session stands for.
 *
 * @throws Failure auth_error
 */
async function sessionHolder(context: AppContext, request: FastifyRequest): Promise<KeyHolder> {
  const isAllowed = context.config.server.console && !request.routeOptions.config.keyOnly;
  if (!isAllowed || !hasSession(request)) {
    const message = 'the request has no API key; send the header Authorization: Bearer <key>';
    throw codedFailure('missing_api_key', message);
  }
  const found = await findSession(context, request);
  if (!found) {
    throw codedFailure('session_ended', 'the session has ended; sign in again');
  }
  const failure = keyFailure(found.holder.key, context.store.now);
  if (failure !== null) throw failure;
  refuseOtherOrigins(context, request);
  return found.holder;
}

/**
 * Whether a key is the operator's: neither of another account than the one of the first start, nor a limited
 * one of it, which applications have.
 */
export function isOwner({ account, key }: KeyHolder): boolean {
  const { models, budget, windows, teamId } = key;
  const isLimited = models !== null || budget !== null || windows !== undefined;
  return account.name === OWNER && !isLimited && teamId === undefined;
}

/** Whether a request without authentication has `metrics.token` or a key of the operator. */
export async function isOperator(context: AppContext, request: FastifyRequest): Promise<boolean> {
  const { config, store } = context;
  const { authorization } = request.headers;
  const isOwners = (found: KeyHolder | undefined) =>
    found !== undefined && keyFailure(found.key, store.now) === null && isOwner(found);
  if (authorization === undefined) {
    return config.server.console && isOwners((await findSession(context, request))?.holder);
  }
  const { token } = config.metrics;
  if (token !== undefined && hasBearerToken(request, token)) return true;
  return isOwners(await store.findKey(hashOf(authorization.replace(/^Bearer +/i, ''))));
}

/** The key of a request, for the audit log. */
export function keyActor({ holder: { account, key }, ip }: FastifyRequest): Actor {
  return { user: null, uid: null, sudoUser: null, key: key.id, account: account.id, from: ip };
}

/** Refuses keys that are not the operator's. */
export function requireOwner({ holder }: FastifyRequest): void {
  if (isOwner(holder)) return;
  const message = `this endpoint needs a key of the account ${OWNER} without a list of models, a budget and a team`;
  throw codedFailure('owner_required', message);
}

/** Refuses accounts on the free plan. */
export function requirePaid({ holder }: FastifyRequest): void {
  if (holder.account.plan === 'paid') return;
  throw codedFailure('paid_account_required', 'this endpoint needs an API key of a paid account');
}
