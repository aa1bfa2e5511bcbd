import { readFileSync, statSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import pino from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  type AdminEndpoint,
  readAdminEndpoint,
  writeAdminEndpoint,
} from '../../src/administration/admin-endpoint.ts';
import { ADMIN_COMMANDS } from '../../src/administration/registry.ts';
import { startAdmin } from '../../src/http/admin.ts';
import { openStore } from '../../src/store/drivers/open.ts';
import type { Store } from '../../src/store/store.ts';
import { UNAUDITED } from '../administration/unaudited.ts';
import { filesBelow } from '../cli/folder.ts';
import { temporaryFolder } from '../oriel.ts';

let directory: string;
let store: Store;
let admin: Awaited<ReturnType<typeof startAdmin>>;
let endpoint: AdminEndpoint;

const begin = () => {
  const options = { ...UNAUDITED, store, directory, log: pino({ enabled: false }) };
  return startAdmin({ place: 'lowdb', ...options, models: () => [] });
};

beforeEach(async () => {
  directory = temporaryFolder();
  store = await openStore({ directory: join(directory, 'store') });
  onTestFinished(() => store.close());
  admin = await begin();
  onTestFinished(() => admin.close());
  endpoint = readAdminEndpoint(directory)!;
});

interface Answer {
  readonly status: number | undefined;
  readonly body: {
    result?: object;
    warnings?: readonly string[];
    error?: { type: string; code: string; param: string; message: string };
  };
}

/** A request with nothing but what is given; `fetch` would choose some headers itself. */
async function send(
  path: string,
  {
    method = 'POST',
    body = '{}',
    headers = {},
  }: { method?: string; body?: string; headers?: object },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(new URL(path, endpoint.url), {
      method,
      agent: false,
      headers: {
        authorization: `Bearer ${endpoint.token}`,
        'content-type': 'application/json',
        ...headers,
      },
    });
    request.on('error', reject).on('response', async (response) => {
      let text = '';
      for await (const chunk of response) text += String(chunk);
      resolve({ status: response.statusCode, body: JSON.parse(text) as Answer['body'] });
    });
    if (method === 'POST' || method === 'PUT') request.write(body);
    request.end();
  });
}

it('administration over HTTP does what the command line does', async () => {
  const body = JSON.stringify({ name: 'ci', plan: 'paid', credits: '1.5' });
  expect(await send('/accounts/create', { body })).toEqual({
    status: 200,
    body: { result: expect.objectContaining({ name: 'ci', plan: 'paid' }), warnings: [] },
  });
  expect(await store.findAccount('ci')).toMatchObject({ granted: 1_500_000 });
});

describe('administration refuses a request', () => {
  it.each<[string, object]>([
    ['without a token', { authorization: '' }],
    ['with another token', { authorization: 'Bearer oriel' }],
    ['with another scheme', { authorization: 'Basic b3JpZWw6' }],
  ])('%s', async (_, headers) => {
    for (const { group, name } of ADMIN_COMMANDS) {
      const { status, body } = await send(`/${group}/${name}`, { headers });
      expect([status, body.error?.code]).toEqual([401, 'wrong_token']);
    }
  });

  it.each<[string, () => object]>([
    [
      'by the name of another host',
      () => ({ host: `oriel.example:${new URL(endpoint.url).port}` }),
    ],
    ['by the name localhost', () => ({ host: `localhost:${new URL(endpoint.url).port}` })],
    ['without a port', () => ({ host: '127.0.0.1' })],
    ['from a page of another site', () => ({ origin: 'https://example.com' })],
    ['from a page of this machine', () => ({ origin: endpoint.url })],
    ['from a page that hides its origin', () => ({ origin: 'null' })],
  ])('%s, even with the token', async (_, headers) => {
    for (const method of ['POST', 'OPTIONS', 'GET']) {
      const { status, body } = await send('/keys/create', { method, headers: headers() });
      expect([status, body.error?.type]).toEqual([403, 'auth_error']);
    }
  });

  it('without the token, whether or not the endpoint exists', async () => {
    const headers = { authorization: 'Bearer x' };
    expect((await send('/no/such', { headers })).status).toBe(401);
  });
});

describe('administration refuses a malformed request', () => {
  it.each<[string, string, number, string]>([
    ['an empty body', '', 400, 'invalid_json'],
    ['half of a body', '{"name":', 400, 'invalid_json'],
    ['a prototype', '{"__proto__": {"plan": "paid"}, "name": "ci"}', 400, 'invalid_json'],
    [
      'a body that is too long',
      JSON.stringify({ name: 'x'.repeat(70_000) }),
      413,
      'request_too_large',
    ],
  ])('%s', async (_, body, status, code) => {
    const answer = await send('/accounts/create', { body });
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
  });

  it.each(['null', '[]', '"ci"', '1', 'true'])('a body that is %s', async (body) => {
    const answer = await send('/accounts/create', { body });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request', message: 'the body: expected a JSON object' } },
    });
  });

  it.each<[object, string]>([
    [{}, 'name'],
    [{ name: 7 }, 'name'],
    [{ name: ['ci'] }, 'name'],
    [{ name: 'ci', plan: 'gold' }, 'plan'],
    [{ name: 'ci', credits: 5 }, 'credits'],
    [{ name: 'ci', granted: 5 }, 'granted'],
  ])('%j', async (body, param) => {
    const answer = await send('/accounts/create', { body: JSON.stringify(body) });
    expect([answer.status, answer.body.error?.param]).toEqual([400, param]);
    expect(await store.listAccounts()).toEqual([]);
  });

  it('another method, path or type', async () => {
    expect((await send('/accounts/list', { method: 'PUT' })).status).toBe(405);
    expect((await send('/accounts/destroy', {})).status).toBe(404);
    const headers = { 'content-type': 'text/plain' };
    expect((await send('/accounts/list', { headers })).status).toBe(415);
  });
});

describe('the file with address and token', () => {
  it('is readable by the owner of the data directory alone', () => {
    expect(statSync(join(directory, 'admin.json')).mode & 0o777).toBe(0o600);
    expect(endpoint).toEqual({
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      token: expect.stringMatching(/^[\w-]{43}$/),
      pid: process.pid,
    });
  });

  it('replaces the file of an earlier daemon and leaves no temporary file', () => {
    writeAdminEndpoint(directory, { url: 'http://127.0.0.1:1', token: 'one', pid: 1 });
    writeAdminEndpoint(directory, { url: 'http://127.0.0.1:2', token: 'two', pid: 2 });
    expect(readAdminEndpoint(directory)).toEqual({
      url: 'http://127.0.0.1:2',
      token: 'two',
      pid: 2,
    });
    expect(filesBelow(directory).filter((file) => file.startsWith('admin'))).toEqual([
      'admin.json',
    ]);
  });

  it('is removed when the daemon ends', async () => {
    await admin.close();
    expect(readAdminEndpoint(directory)).toBeUndefined();
    expect(filesBelow(directory).filter((file) => file.startsWith('admin'))).toEqual([]);
  });

  it('has another token after every start', async () => {
    await admin.close();
    admin = await begin();
    expect(readAdminEndpoint(directory)!.token).not.toBe(endpoint.token);
    expect(readFileSync(join(directory, 'admin.json'), 'utf8')).not.toContain(endpoint.token);
  });
});
