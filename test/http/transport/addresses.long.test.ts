import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { configSchema } from '../../../src/config/settings/schema.ts';
import type { Failure } from '../../../src/failure.ts';
import {
  InvalidKeyLimit,
  limitConnectionsByAddress,
  networkOf,
} from '../../../src/http/transport/addresses.ts';
import { sharedDaemon, startDaemon } from '../../daemon.ts';
import { listening } from '../../fixtures/server.ts';
import { RawClient } from '../raw-client.ts';

it.each([
  ['192.0.2.7', '::ffff:192.0.2.7', true],
  ['192.0.2.7', '192.0.2.8', false],
  ['2001:db8:1:2:3:4:5:6', '2001:0DB8:1:2::1', true],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:3:3:4:5:6', false],
  ['fe80::1%eth0', 'fe80::2', true],
  ['no address', 'no address', true],
])('%s and %s are one network: %s', (one, other, same) => {
  expect(networkOf(one) === networkOf(other)).toBe(same);
});

function isLimited(failedKeys: InvalidKeyLimit, address: string, limit = 1): boolean {
  try {
    failedKeys.count(address, limit);
    return false;
  } catch (error) {
    expect((error as Failure).retryAfter).toBeGreaterThan(0);
    return true;
  }
}

it('counts invalid keys by /64 network, for a limited number of networks', () => {
  const failedKeys = new InvalidKeyLimit();
  expect(isLimited(failedKeys, '2001:db8::1')).toBe(false);
  expect(isLimited(failedKeys, '2001:db8::2')).toBe(true);
  expect(isLimited(failedKeys, '2001:db8:0:1::1')).toBe(false);
  for (let index = 0; index < 10_000; index += 1) {
    isLimited(failedKeys, `10.0.${index >> 8}.${index & 255}`);
  }
  expect(isLimited(failedKeys, '2001:db8::1')).toBe(false);
});

describe('an address that sends invalid keys', () => {
  const daemon = sharedDaemon({
    config: {
      server: { trustProxy: ['127.0.0.1'] },
      limits: { address: { failedKeys: 3 } },
    },
  });
  const ask = (key: string, address: string) =>
    daemon().request('/v1/account', {
      headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': address },
    });

  it('gets 429 with Retry-After, while valid keys and other addresses are accepted', async () => {
    for (let count = 0; count < 3; count += 1) {
      expect((await ask('wrong', '2001:db8::1')).status).toBe(401);
    }
    const limited = await ask('wrong', '2001:db8::2');
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(limited.headers.get('x-ratelimit-limit-requests')).toBe('3');
    expect(limited.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(limited.headers.get('x-ratelimit-reset-requests')).toMatch(/^\d+s$/);
    expect(await limited.json()).toMatchObject({
      error: { type: 'rate_limit', code: 'too_many_invalid_api_keys' },
    });
    expect((await ask('wrong', '2001:db8:0:1::1')).status).toBe(401);
    expect((await daemon().request('/v1/account')).status).toBe(200);
  });
});

describe('limits.address.connections', () => {
  async function isAccepted(daemon: { readonly url: string }): Promise<[boolean, Socket]> {
    const client = new RawClient(daemon);
    await client.write('GET /healthz HTTP/1.1\r\nHost: oriel\r\n\r\n');
    const accepted = await client.receive(/./).then(
      () => true,
      () => false,
    );
    return [accepted, client.socket];
  }

  it('closes connections of an address beyond the limit, until an earlier one has ended', async () => {
    const daemon = await startDaemon({ config: { limits: { address: { connections: 2 } } } });
    const [, first] = await isAccepted(daemon);
    expect((await isAccepted(daemon))[0]).toBe(true);
    expect((await isAccepted(daemon))[0]).toBe(false);
    await daemon.logged('connections beyond limits.address.connections were closed');
    first.destroy();
    let accepted: boolean;
    // The server may notice the end later than the client.
    do [accepted] = await isAccepted(daemon);
    while (!accepted);
  });

  it.each([
    ['trusted proxies', { trustProxy: ['127.0.0.0/8'] }, { connections: 1 }],
    ['all where every proxy is trusted', { trustProxy: true }, { connections: 1 }],
    // A quarter of these would be one.
    ['private addresses by default', { maxConnections: 4 }, {}],
  ])('exempts %s', async (_, settings, address) => {
    const server = createServer((_, response) => response.end('x'));
    const config = v.parse(configSchema, { server: settings, limits: { address } });
    const log = { warn() {} };
    limitConnectionsByAddress({ server, log } as unknown as FastifyInstance, config, 4);
    const url = await listening(server);
    for (let count = 0; count < 3; count += 1) {
      expect((await isAccepted({ url }))[0]).toBe(true);
    }
  });
});
