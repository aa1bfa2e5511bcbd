import type { IncomingMessage, RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import { LightAbortSignal } from '../../src/upstream/abort-signal.ts';
import { fetchPublic } from '../../src/upstream/fetch-public.ts';
import type { UpstreamRequest } from '../../src/upstream/request.ts';
import type { UpstreamResponse } from '../../src/upstream/response.ts';
import { ANYWHERE, networkPolicy, PUBLIC } from './policies.ts';
import { listening, saying, upstream } from './servers.ts';

type Options = Partial<Parameters<typeof fetchPublic>[2]>;

function fetch(url: string, options: Options = {}) {
  return fetchPublic(upstream(), url, {
    maxBytes: 1000,
    timeout: 20_000,
    networkPolicy: ANYWHERE,
    signal: new LightAbortSignal(),
    ...options,
  });
}

/** Redirects each path that it has a target for. */
async function redirecting(targets: Readonly<Record<string, string>>, status = 302) {
  const seen: IncomingMessage[] = [];
  const listener: RequestListener = (request, response) => {
    seen.push(request);
    const location = targets[request.url ?? ''];
    if (location === undefined) response.end(`at ${request.url}`);
    else response.writeHead(status, { location }).end('elsewhere');
  };
  return { url: (await listening(listener)).url, seen };
}

describe('fetchPublic', () => {
  it.each([301, 302, 303, 307, 308])('follows a redirect of %i', async (status) => {
    const { url } = await redirecting({ '/': '/b?c', '/b?c': 'd' }, status);
    expect(String(await fetch(url))).toBe('at /d');
  });

  it('follows five redirects and not six', async () => {
    const targets = { '/0': '1', '/1': '2', '/2': '3', '/3': '4', '/4': '5', '/5': '6' };
    const { url, seen } = await redirecting(targets);
    await expect(fetch(`${url}/0`)).rejects.toMatchObject({
      type: 'service_error',
      code: 'fetch_redirect',
      message: `${new URL(url).host} redirects more than 5 times`,
    });
    expect(seen).toHaveLength(6);
    expect(String(await fetch(`${url}/1`))).toBe('at /6');
  });

  it.each([
    ['file:///etc/passwd', 'expected an http or https URL, received "file:///etc/passwd"'],
    [
      'http://a:b@example.com/',
      'expected a URL without credentials: they would be kept with the request',
    ],
  ])('does not follow a redirect to %s', async (location, message) => {
    const { url } = await redirecting({ '/': location });
    await expect(fetch(url)).rejects.toMatchObject({ type: 'invalid_request', message });
  });

  it('rejects a redirect to an invalid URL', async () => {
    const { url } = await redirecting({ '/': 'http://' });
    await expect(fetch(url)).rejects.toMatchObject({ code: 'fetch_redirect' });
  });

  it('rejects a redirect without a location as status 302', async () => {
    const { url } = await listening((_, response) => response.writeHead(302).end());
    await expect(fetch(url)).rejects.toMatchObject({
      code: 'fetch_refused',
      message: `${new URL(url).host} answered 302`,
    });
  });

  it.each([204, 404, 500])('rejects the status %i', async (status) => {
    const { url } = await listening((_, response) => response.writeHead(status).end());
    const fetched = fetch(url);
    if (status === 204) expect(await fetched).toHaveLength(0);
    else await expect(fetched).rejects.toMatchObject({ code: 'fetch_refused' });
  });

  it.each([
    ['announced', { 'content-length': '1001' }],
    ['not announced', {}],
  ])('rejects a body beyond the limit: %s', async (_, headers) => {
    const { url } = await listening((__, response) => {
      response.writeHead(200, headers).end(Buffer.alloc(1001));
    });
    await expect(fetch(url)).rejects.toMatchObject({ code: 'upstream_answer_too_large' });
    expect(await fetch(url, { maxBytes: 1001 })).toHaveLength(1001);
  });

  it('applies its timeout to all redirects together', async () => {
    const { url } = await listening((_, response) => {
      setTimeout(() => response.writeHead(302, { location: '/' }).end(), 200);
    });
    await expect(fetch(url, { timeout: 500 })).rejects.toMatchObject({
      type: 'timeout',
      code: 'total_timeout',
    });
  });

  it('rejects once its signal is aborted', async () => {
    const signal = new LightAbortSignal();
    const reason = new Error('enough');
    const url = await saying(() => signal.abort(reason));
    await expect(fetch(url, { signal })).rejects.toMatchObject({ code: 'aborted', cause: reason });
  });

  it('rejects private addresses unless the policy allows them', async () => {
    const { url, seen } = await redirecting({});
    await expect(fetch(url, { networkPolicy: PUBLIC })).rejects.toMatchObject({
      type: 'invalid_request',
      code: 'private_address',
      message: expect.stringContaining(new URL(url).host),
    });
    expect(seen).toHaveLength(0);
  });

  it.each([
    ['http://10.0.0.1/', 'private_address'],
    ['https://[::ffff:127.0.0.1]/', 'private_address'],
    ['http://localhost:1/', 'private_address'],
    ['http://2130706433/', 'private_address'],
    ['http://name.example:8080/', 'port_denied'],
    ['https://name.example:22/', 'port_denied'],
    ['http://denied.example/', 'address_denied'],
    ['http://[64:ff9b::808:808]/', 'address_denied'],
  ])('checks address, port and deny list at a redirect to %s', async (location, code) => {
    const opened: unknown[] = [];
    const redirects = {
      async open(url: string, { networkPolicy: policy }: UpstreamRequest) {
        opened.push([url, policy]);
        return { status: 302, headers: { location }, abort() {} } as unknown as UpstreamResponse;
      },
    };
    const policy = networkPolicy({ deny: ['denied.example', '8.8.8.0/24'] });
    const fetched = fetchPublic(redirects, 'https://name.example/a', {
      maxBytes: 1000,
      timeout: 20_000,
      networkPolicy: policy,
      signal: new LightAbortSignal(),
    });
    await expect(fetched).rejects.toMatchObject({ type: 'invalid_request', code });
    expect(opened).toEqual([['https://name.example/a', policy]]);
  });
});
