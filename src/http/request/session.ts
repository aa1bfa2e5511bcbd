import type { FastifyReply, FastifyRequest } from 'fastify';
import { codedFailure } from '../../failure.ts';
import { randomText } from '../../store/identifier.ts';
import { hashOf } from '../../store/key.ts';
import type { KeyHolder } from '../../store/store.ts';
import type { AppContext } from './app-context.ts';

/**
 * Name of the session cookie. Cookies ignore ports: without it, servers on two ports of one host would sign each
 * other's people out. The port is that which the browser asks for, also behind a proxy that keeps `Host`.
 */
function cookieName({ port }: FastifyRequest): string {
  return port === null ? 'oriel_session' : `oriel_session_${port}`;
}

/**
 * Prefix of cookies for all paths over HTTPS. Browsers accept such a cookie from this very host alone (RFC 6265bis,
 * section 4.1.3.2), so that a page on another subdomain cannot set one in its place.
 */
const HOST_PREFIX = '__Host-';

/** Lifetime of a session: a working day. */
const LIFETIME_MS = 12 * 3_600_000;

/** Text of 256 random bits. */
const TOKEN_LENGTH = 43;
const TOKEN = new RegExp(`^[0-9A-Za-z]{${TOKEN_LENGTH}}$`);

/** Values of the session cookies. */
function tokensOf(request: FastifyRequest): readonly string[] {
  const { cookie } = request.headers;
  if (cookie === undefined) return [];
  const pattern = new RegExp(`(?:^|;) *(?:${HOST_PREFIX})?${cookieName(request)}=([^;]*)`, 'g');
  return Array.from(cookie.matchAll(pattern), ([, value]) => value!);
}

/** The token of the only session cookie. Of several, a page of another host may have set one. */
function tokenOf(request: FastifyRequest): string | undefined {
  const tokens = tokensOf(request);
  return tokens.length === 1 && TOKEN.test(tokens[0]!) ? tokens[0] : undefined;
}

/** Whether a request has session cookies, valid or not. */
export const hasSession = (request: FastifyRequest): boolean => tokensOf(request).length > 0;

/** The holder of a request's session; undefined if it has none or the session has ended. */
export async function findSession(
  { store }: AppContext,
  request: FastifyRequest,
): Promise<{ readonly holder: KeyHolder; readonly expiresAt: number } | undefined> {
  const token = tokenOf(request);
  const found = token === undefined ? undefined : await store.findSession(hashOf(token));
  return found && { holder: found.holder, expiresAt: found.session.expiresAt };
}

/**
 * Begins a session and sets its cookie.
 *
 * @param path of the cookie
 * @returns the end of the session, in milliseconds since the epoch
 */
export async function beginSession(
  { store }: AppContext,
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
): Promise<number> {
  const { key, account } = request.holder;
  const token = randomText(TOKEN_LENGTH);
  const expiresAt = Math.min(store.now + LIFETIME_MS, key.expiresAt ?? Infinity);
  const payer = { accountId: account.id, keyId: key.id };
  await store.createSession({ ...payer, hash: hashOf(token), expiresAt });
  const seconds = Math.ceil((expiresAt - store.now) / 1000);
  reply.header('set-cookie', cookiesOf(request, token, path, seconds));
  return expiresAt;
}

/** Ends the sessions of a request, and removes its cookies. */
export async function endSession(
  { store }: AppContext,
  request: FastifyRequest,
  reply: FastifyReply,
  path: string,
): Promise<void> {
  for (const token of tokensOf(request)) await store.endSession(hashOf(token));
  reply.header('set-cookie', cookiesOf(request, '', path, 0));
}

/** The session cookie, and the end of one without the prefix that an earlier version has set. */
function cookiesOf(
  request: FastifyRequest,
  value: string,
  path: string,
  seconds: number,
): string[] {
  const name = cookieName(request);
  // The page's own origin shows HTTPS also where a proxy that is not trusted terminates it.
  const isSecure = request.protocol === 'https' || request.headers.origin?.startsWith('https:');
  const cookie = (own: string, content: string, age: number) =>
    `${own}=${content}; Path=${path}; Max-Age=${age}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  if (!isSecure || path !== '/') return [cookie(name, value, seconds)];
  return [cookie(HOST_PREFIX + name, value, seconds), cookie(name, '', 0)];
}

/**
 * Refuses requests that a page of another origin may have caused. SameSite keeps cookies from other sites,
 * but other ports of the same host are the same site.
 *
 * @throws Failure auth_error with status 403
 */
export function refuseOtherOrigins({ publicUrl }: AppContext, request: FastifyRequest): void {
  if (isSameOrigin(request, publicUrl)) return;
  throw codedFailure('cross_origin_session', 'a session can only be used by pages of this server');
}

function isSameOrigin({ headers, method, host }: FastifyRequest, publicUrl: string): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  // Browsers send it over HTTPS and to localhost; no proxy changes what it says.
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || (isRead && site === 'none');
  const { origin } = headers;
  if (origin === undefined) return isRead;
  if (!URL.canParse(origin)) return false;
  return new URL(origin).host === host || origin === new URL(publicUrl).origin;
}
