import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Failure } from '../../../src/failure.ts';
import { UpstreamClient } from '../../../src/upstream/client.ts';
import { googleTokens } from '../../../src/upstream/google-tokens.ts';
import type { Upstream } from '../../../src/upstream/response.ts';
import { sharedServer } from '../../fixtures/server.ts';
import { temporaryFolder } from '../../oriel.ts';
import { TokenService, writeKeyFile } from './google-tokens.ts';

const TOKEN_URI = 'https://oauth2.example/token';

let service: TokenService;
const url = sharedServer(createServer((...exchange) => service.listener(...exchange)));
const client = new UpstreamClient();
afterAll(() => client.close());

/** The network, in which the service has its real names. */
const upstream: Upstream = {
  open: (address, request) =>
    client.open(address.replace('https://oauth2.example', url()).replace(METADATA, url()), request),
};
const METADATA = 'http://metadata.google.internal';

let now: number;
beforeEach(() => {
  now = Date.now();
  service = new TokenService();
  service.audience = TOKEN_URI;
  service.now = () => now;
});

const keyed = (changes: object = {}) => {
  const keyFile = writeKeyFile(temporaryFolder(), { token_uri: TOKEN_URI, ...changes });
  return { keyFile, tokens: googleTokens({ keyFile }, () => now) };
};

const take = async (tokens: ReturnType<typeof googleTokens>) => (await tokens.take(upstream)).token;

const failureOf = (promise: Promise<string>): Promise<Failure> =>
  promise.then(
    (token) => Promise.reject(new Error(`got ${token}`)),
    (error) => error as Failure,
  );

const IDENTITIES = [
  ['a key file', () => keyed().tokens],
  ['the machine', () => googleTokens({}, () => now)],
] as const;

describe.each(IDENTITIES)('tokens of %s', (_, open) => {
  it('are issued once for all requests, and again five minutes before their end', async () => {
    const tokens = open();
    const takes = () => Promise.all(Array.from({ length: 50 }, () => take(tokens)));
    const first = await takes();
    expect(new Set(first)).toEqual(new Set([service.issued[0]]));
    now += 3299_000 - 1;
    expect(await take(tokens)).toBe(first[0]);
    expect(service.asked).toBe(1);
    now += 1;
    expect(await takes()).toEqual(first);
    await vi.waitFor(async () => expect(await take(tokens)).toBe(service.issued[1]));
    expect(service.asked).toBe(2);
  });

  it('that the provider refused are not used again', async () => {
    const tokens = open();
    const first = await tokens.take(upstream);
    tokens.forget({ ...first });
    expect(await tokens.take(upstream)).toBe(first);
    tokens.forget(first);
    expect(await take(tokens)).toBe(service.issued[1]);
  });

  it('are used to their end where the service fails or refuses, which is the failure then', async () => {
    const tokens = open();
    const first = await take(tokens);
    now += 3599_000 - 1;
    service.refusals.push([503, {}]);
    expect(await take(tokens)).toBe(first);
    now += 1;
    const refusal = { error: 'invalid_grant', error_description: 'Account is disabled.' };
    service.refusals.push([400, refusal]);
    expect(await failureOf(take(tokens))).toMatchObject({ code: 'upstream_failed' });
    const refused = await failureOf(take(tokens));
    expect(refused).toMatchObject({ code: 'upstream_auth', upstreamStatus: 401 });
    expect(refused.message).not.toContain('disabled');
    expect(refused.detail).toContain('invalid_grant: Account is disabled.');
    expect(await take(tokens)).toBe(service.issued[1]);
  });

  it('of a short life are not asked for by every request', async () => {
    service.lifetime = 120;
    const tokens = open();
    for (let count = 0; count < 5; count += 1) await take(tokens);
    expect(service.asked).toBe(1);
    now += 10_000;
    await vi.waitFor(async () => expect(await take(tokens)).toBe(service.issued[1]));
    expect(service.asked).toBe(2);
  });

  it.each([
    ['no token', { expires_in: 3599 }],
    ['a token with a line break', { access_token: 'a\r\nx: y', expires_in: 3599 }],
    ['no end', { access_token: 'ya29.x' }],
    ['a list', []],
  ])('are not read from an answer with %s', async (_name, body) => {
    service.refusals.push([200, body]);
    expect(await failureOf(take(open()))).toMatchObject({ code: 'upstream_failed' });
  });
});

describe('a key file', () => {
  const EC = '-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n';
  const signs = (private_key: string) => keyed({ private_key }).tokens;

  it('is read for each token, so that it can be replaced', async () => {
    const { keyFile, tokens } = keyed({ client_email: 'gone@example' });
    expect(await failureOf(take(tokens))).toMatchObject({ code: 'upstream_auth' });
    const other = writeKeyFile(temporaryFolder(), { token_uri: TOKEN_URI });
    writeFileSync(keyFile, readFileSync(other));
    expect(await take(tokens)).toBe(service.issued[0]);
  });

  const FAULTS = [
    ['with a plain token_uri', () => keyed({ token_uri: url() }).tokens, 'https address'],
    ['without a token_uri', () => keyed({ token_uri: undefined }).tokens, 'https address'],
    ['of a user', () => keyed({ type: 'authorized_user' }).tokens, "service account's key"],
    ['without a key', () => signs(''), "service account's key"],
    ['with a broken key', () => signs(EC), 'ERR_OSSL'],
    ['that is missing', () => googleTokens({ keyFile: '/no/file' }), 'ENOENT'],
    ['that is a device', () => googleTokens({ keyFile: '/dev/zero' }), 'other content'],
    ['that is a pipe', () => googleTokens({ keyFile: pipe() }), 'other content'],
  ] as const;

  it.each(FAULTS)('%s is the auth error of the provider', async (_, open, words) => {
    const failure = await failureOf(take(open()));
    expect(failure).toMatchObject({ type: 'service_error', code: 'upstream_auth' });
    expect(failure.detail).toContain(words);
    expect(failure.message).not.toContain('/');
    expect(`${failure.stack}${failure.detail}`).not.toContain('BEGIN');
    expect(service.asked).toBe(0);
  });
});

function pipe(): string {
  const path = join(temporaryFolder(), 'pipe');
  execFileSync('mkfifo', [path]);
  return path;
}
