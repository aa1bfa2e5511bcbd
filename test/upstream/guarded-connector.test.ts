import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { UpstreamClient } from '../../src/upstream/client.ts';
import { isPublicAddress } from '../../src/upstream/network-policy.ts';
import { ANYWHERE, networkPolicy, PUBLIC } from './policies.ts';
import { listening, open, textOf } from './servers.ts';

/** A public address that is not assigned, so that no machine can connect to it. */
const NOWHERE = '2d00::1';

async function receiver() {
  let requests = 0;
  const { url } = await listening((_, response) => {
    requests += 1;
    response.end('here');
  });
  return { port: new URL(url).port, url, requests: () => requests };
}

function resolving(resolve: (hostname: string) => Promise<readonly string[]>): UpstreamClient {
  const made = new UpstreamClient({ resolve });
  onTestFinished(() => made.close());
  return made;
}

const guarded = { networkPolicy: PUBLIC, timeouts: { connect: 200 } } as const;

const PRIVATE = { type: 'invalid_request', code: 'private_address' };

describe('a request with a policy for public addresses', () => {
  it.each([
    ['127.0.0.1'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['10.0.0.1', '169.254.169.254'],
    [],
    ['no address'],
  ])('is rejected where DNS returns %j', async (...addresses) => {
    const there = await receiver();
    const by = resolving(async () => addresses);
    const opened = open(`http://name.example:${there.port}/`, guarded, by);
    await expect(opened).rejects.toMatchObject({
      ...PRIVATE,
      message: 'name.example leads to a private address, which this server does not connect to',
    });
    expect(there.requests()).toBe(0);
  });

  it.each(['127.0.0.1', 'localhost', '[::1]', '[::ffff:7f00:1]', '0'])(
    'to %s itself is rejected without a DNS query',
    async (host) => {
      const there = await receiver();
      const resolve = vi.fn(async () => [NOWHERE]);
      const opened = open(`http://${host}:${there.port}/`, guarded, resolving(resolve));
      await expect(opened).rejects.toMatchObject(PRIVATE);
      expect([there.requests(), resolve.mock.calls]).toEqual([0, []]);
    },
  );

  it('resolves the name once per connection, so that DNS rebinding has no effect', async () => {
    expect(isPublicAddress(NOWHERE)).toBe(true);
    const there = await receiver();
    const resolve = vi.fn(async () =>
      resolve.mock.calls.length === 1 ? [NOWHERE] : ['127.0.0.1'],
    );
    const by = resolving(resolve);
    const url = `http://name.example:${there.port}/`;
    // It went to the address that passed: nothing is there.
    const first: unknown = await open(url, guarded, by).catch((error: unknown) => error);
    expect(['unreachable', 'connect_timeout']).toContain((first as { code: string }).code);
    expect(resolve).toHaveBeenCalledOnce();
    await expect(open(url, guarded, by)).rejects.toMatchObject(PRIVATE);
    expect(there.requests()).toBe(0);
  });

  it('connects to the public one of several addresses', async () => {
    const there = await receiver();
    const by = resolving(async () => ['127.0.0.1', NOWHERE, '::1']);
    const opened: unknown = await open(`http://name.example:${there.port}/`, guarded, by).catch(
      (error: unknown) => error,
    );
    expect(['unreachable', 'connect_timeout']).toContain((opened as { code: string }).code);
    expect(there.requests()).toBe(0);
  });

  it('does not reuse a connection of a request without a policy', async () => {
    const there = await receiver();
    const by = resolving(async () => ['127.0.0.1']);
    expect(await textOf(await open(there.url, {}, by))).toBe('here');
    await expect(open(there.url, guarded, by)).rejects.toMatchObject(PRIVATE);
    expect(there.requests()).toBe(1);
  });

  it('bypasses the proxy', async () => {
    const proxy = await receiver();
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    onTestFinished(() => {
      vi.unstubAllEnvs();
    });
    const by = resolving(async () => ['127.0.0.1']);
    const opened = open('https://name.example/', guarded, by);
    await expect(opened).rejects.toMatchObject(PRIVATE);
    expect(proxy.requests()).toBe(0);
  });

  it('gives code unreachable where the name is unknown', async () => {
    const by = resolving(async () => {
      throw Object.assign(new Error('queryA ENOTFOUND name.example'), { code: 'ENOTFOUND' });
    });
    await expect(open('http://name.example/', guarded, by)).rejects.toMatchObject({
      type: 'network_error',
      code: 'unreachable',
      message: 'name.example cannot be reached: its host name is not known',
    });
  });
});

describe('a request with a custom policy', () => {
  const governedBy = (networkPolicy: typeof PUBLIC) => ({ networkPolicy });
  const ALLOWED = networkPolicy({ allow: ['127.0.0.0/8'] });
  const NAMED = networkPolicy({ allow: ['example'] });
  const DENIED = networkPolicy({ allowPrivateAddresses: true, deny: ['127.0.0.1'] });

  it.each([
    ['a range', ALLOWED],
    ['its name', NAMED],
    ['everything', ANYWHERE],
  ])('connects to a private address where %s is allowed', async (_, policy) => {
    const there = await receiver();
    const by = resolving(async () => ['127.0.0.1']);
    const url = `http://name.example:${there.port}/`;
    expect(await textOf(await open(url, governedBy(policy), by))).toBe('here');
  });

  it.each(['name.example', '127.0.0.1', '[::ffff:7f00:1]'])(
    'to %s is rejected where its address is denied',
    async (host) => {
      const there = await receiver();
      const by = resolving(async () => ['127.0.0.1']);
      await expect(
        open(`http://${host}:${there.port}/`, governedBy(DENIED), by),
      ).rejects.toMatchObject({ type: 'invalid_request', code: 'address_denied' });
      expect(there.requests()).toBe(0);
    },
  );

  it('is rejected without a DNS query where its name is denied', async () => {
    const resolve = vi.fn(async () => ['8.8.8.8']);
    const deny = networkPolicy({ deny: ['name.example'] });
    await expect(
      open('http://a.name.example./', governedBy(deny), resolving(resolve)),
    ).rejects.toMatchObject({ code: 'address_denied' });
    expect(resolve).not.toHaveBeenCalled();
  });

  it.each(['169.254.169.254', '::ffff:169.254.169.254', 'fe80::1', 'fd00:ec2::254'])(
    'is rejected where the name resolves to cloud metadata: %s',
    async (address) => {
      const by = resolving(async () => [address]);
      for (const policy of [NAMED, ANYWHERE, networkPolicy({ allow: ['169.254.0.0/16'] })]) {
        await expect(open('http://name.example/', governedBy(policy), by)).rejects.toMatchObject(
          PRIVATE,
        );
      }
    },
  );

  it('does not reuse a connection of another policy', async () => {
    const there = await receiver();
    const by = resolving(async () => ['127.0.0.1']);
    const url = `http://name.example:${there.port}/`;
    expect(await textOf(await open(url, governedBy(ALLOWED), by))).toBe('here');
    await expect(open(url, governedBy(PUBLIC), by)).rejects.toMatchObject(PRIVATE);
    expect(await textOf(await open(url, governedBy(ALLOWED), by))).toBe('here');
    expect(there.requests()).toBe(2);
  });
});

it('connects to private addresses without a policy', async () => {
  const there = await receiver();
  expect(await textOf(await open(there.url, {}))).toBe('here');
});
