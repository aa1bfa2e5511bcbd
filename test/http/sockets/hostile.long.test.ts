import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY, residentMegabytes, startDaemon } from '../../daemon.ts';
import { until } from '../../fixtures/until.ts';
import { gate } from '../../gate.ts';
import { account } from '../../text/account.ts';
import { DONE } from '../../text/ask.ts';
import { administer, gatewayConfig, gatewayDaemon, newKey } from '../../text/gateway-daemon.ts';
import { startMockUpstream } from '../../text/mock-upstream.ts';
import { send } from '../../text/raw.ts';
import { RawClient } from '../raw-client.ts';
import { SocketClient } from './socket-client.ts';

const MODEL = 'to-chat';
const HELLO = { model: MODEL, store: false, input: 'Hello' };
const LIMIT = 256_000;

/** Lets tests see pings, and closes, within seconds. */
const QUICK = { ping: '1s' };

const gateway = gatewayDaemon(() => ({
  sockets: { ...QUICK, perAccount: 1500 },
  server: { bodyLimit: '256KB', sendTimeout: '1s', requestTimeout: '2s' },
}));
const open = (key?: string) => SocketClient.open(gateway().daemon.url, { key: key ?? OWNER_KEY });

/** The head of a request for a WebSocket. */
function handshake(
  changes: Readonly<Record<string, string | null>> = {},
  line = 'GET /v1/responses',
): string {
  const headers = {
    Host: 'oriel',
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    Authorization: `Bearer ${OWNER_KEY}`,
    ...changes,
  };
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === null ? [] : [`${name}: ${value}`],
  );
  return `${line} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

describe('a handshake', () => {
  it.each([
    ['without a key', { Authorization: null }, 401, 'missing_api_key'],
    ['with an unknown key', { Authorization: 'Bearer sk-oriel-no' }, 401, 'invalid_api_key'],
    [
      'with a session alone',
      { Authorization: null, Cookie: 'oriel_session=x' },
      401,
      'missing_api_key',
    ],
    [
      'whose Upgrade a proxy dropped',
      { Upgrade: null, Connection: 'close' },
      426,
      'upgrade_required',
    ],
    ['of another version', { 'Sec-WebSocket-Version': '8' }, 426, 'upgrade_required'],
    ['without its nonce', { 'Sec-WebSocket-Key': null }, 426, 'upgrade_required'],
    ['with a wrong nonce', { 'Sec-WebSocket-Key': 'x' }, 426, 'upgrade_required'],
  ])('%s is refused', async (_case, changes, status, code) => {
    const client = new RawClient(gateway().daemon);
    await client.write(handshake(changes));
    const answer = await client.whole();
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain(`"code":"${code}"`);
    expect(/^upgrade: websocket/im.test(answer)).toBe(status === 426);
  });

  it.each([
    ['GET /v1/models', 200],
    ['GET /v1/chat/completions', 426],
    ['GET /v1/nothing', 404],
  ])('%s goes on in HTTP with %i', async (line, status) => {
    const client = new RawClient(gateway().daemon);
    await client.write(handshake({}, line));
    await client.receive(new RegExp(`^HTTP/1\\.1 ${status} `));
    // Of the same connection, which is not closed.
    await client.write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    expect(await client.whole()).toMatch(/HTTP\/1\.1 200 [\s\S]*$/);
  });

  it('for HTTP/2, as clients of Java ask with a body, is answered in HTTP/1.1', async () => {
    gateway().upstream.play(DONE);
    const body = JSON.stringify({ model: MODEL, input: 'Hello' });
    const headers = { 'Content-Type': 'application/json', 'Content-Length': `${body.length}` };
    const asking = {
      Connection: 'Upgrade, HTTP2-Settings',
      Upgrade: 'h2c',
      'HTTP2-Settings': 'AAM',
    };
    const client = new RawClient(gateway().daemon);
    const head = handshake({ ...asking, ...headers }, 'POST /v1/responses');
    await client.write(head);
    await client.write(body.slice(0, 10));
    await client.write(body.slice(10));
    expect(await client.receive(/"status":"completed"/)).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a message', () => {
  type Web = SocketClient['web'];
  it.each<readonly [string, string, string | null, string | null]>([
    ['that is no JSON', '{', 'invalid_json', null],
    ['that is empty', '', 'invalid_json', null],
    ['that is a list', '[]', 'invalid_request', 'type'],
    ['of another type', '{"type":"response.cancel"}', 'invalid_request', 'type'],
    ['that nests without end', '['.repeat(100_000), 'nested_too_deep', null],
    ...['""', '"a b"', '7', `"${'x'.repeat(257)}"`].map(
      (id) =>
        [
          `of the stream ${id.slice(0, 9)}`,
          `{"type":"response.create","stream_id":${id}}`,
          'invalid_stream_id',
          'stream_id',
        ] as const,
    ),
    [
      'with a wrong generate',
      '{"type":"response.create","generate":1}',
      'invalid_request',
      'generate',
    ],
    ['without a model', '{"type":"response.create","input":"Hello"}', null, 'model'],
    [
      'for a model that is not there',
      '{"type":"response.create","model":"no","input":"a"}',
      'model_not_found',
      'model',
    ],
    [
      'that continues an unknown response',
      JSON.stringify({ type: 'response.create', ...HELLO, previous_response_id: 'resp_x' }),
      'previous_response_not_found',
      'previous_response_id',
    ],
  ])('%s is refused, and the next one answered', async (_case, message, code, param) => {
    gateway().upstream.play(DONE);
    const client = await open();
    client.web.send(message);
    const { type, error, status } = await client.end();
    expect([type, error.param]).toEqual(['error', param]);
    if (code !== null) expect(error.code).toBe(code);
    expect(status).toBeGreaterThanOrEqual(400);
    client.create(HELLO);
    expect(await client.end()).toMatchObject({ type: 'response.completed' });
  });

  it('of a 33rd stream is refused, and one of the first 32 is not', async () => {
    gateway().upstream.play(DONE);
    const client = await open();
    for (let index = 0; index <= 32; index += 1)
      client.create({ ...HELLO, generate: false, stream_id: `s${index}` });
    const refused = await client.next(({ type }) => type === 'error');
    expect(refused).toMatchObject({
      stream_id: 's32',
      error: { code: 'websocket_stream_limit_reached' },
    });
    client.create({ ...HELLO, stream_id: 's0' });
    await client.next(
      ({ type, stream_id }) => type === 'response.output_text.done' && stream_id === 's0',
    );
  });

  it("that continues another account's response is refused as unknown, and its own is not", async () => {
    gateway().upstream.play(DONE);
    const [mine, theirs] = [await open(), await open(await newKey(gateway().daemon, 'other'))];
    mine.create({ ...HELLO, store: true });
    const { id } = (await mine.end()).response;
    theirs.create({ ...HELLO, previous_response_id: id });
    expect((await theirs.end()).error.code).toBe('previous_response_not_found');
    mine.create({ ...HELLO, previous_response_id: id });
    expect((await mine.end()).response.previous_response_id).toBe(id);
  });

  it.each([
    ['of bytes', (web: Web) => web.send(Buffer.from('{}')), 1003],
    ['beyond the limit of bodies', (web: Web) => web.send('x'.repeat(LIMIT + 1)), 1009],
    ['with wrong UTF-8', (web: Web) => web.send(Buffer.from([0xff]), { binary: false }), 1007],
    // biome-ignore lint/suspicious/noExplicitAny: the socket below, for a frame without a mask
    ['without a mask', (web: any) => web._socket.write(Buffer.from([0x81, 1, 65])), 1002],
  ])('%s closes the connection', async (_case, sendIt, code) => {
    const client = await open();
    sendIt(client.web);
    expect(await client.closed).toBe(code);
  });
});

describe('the limits of HTTP', () => {
  it('of a key count each message', async () => {
    gateway().upstream.play(DONE);
    const { daemon } = gateway();
    await newKey(daemon, 'slow');
    // The connection counts too.
    const { key } = await administer(daemon, 'keys/create', { account: 'slow', rpm: 2 });
    const client = await open(key);
    for (const _ of ['one', 'two']) client.create(HELLO);
    const refused = await client.next(({ type }) => type === 'error');
    expect(refused).toMatchObject({ status: 429, error: { type: 'rate_limit' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  });

  it('charge a message as a request, and log it', async () => {
    const { daemon, upstream } = gateway();
    upstream.play(DONE);
    const [viaSocket, viaHttp] = [await newKey(daemon, 'socket'), await newKey(daemon, 'http')];
    const client = await open(viaSocket);
    client.create(HELLO);
    await client.end();
    await (await send(daemon, 'responses', { ...HELLO, stream: true }, { key: viaHttp })).text();
    const spent = async (key: string) => (await account(daemon, key)).credits.spent;
    await until(async () => (await spent(viaHttp)) > 0);
    expect(await spent(viaSocket)).toBe(await spent(viaHttp));
    const lines = daemon.log.filter(
      ({ msg, path }) => msg === 'request' && path === '/v1/responses',
    );
    const logged = lines.slice(-3).map(({ method, status }) => `${method} ${status}`);
    expect(logged.sort()).toEqual(['GET 101', 'POST 200', 'POST 200']);
  });

  it('refuse a revoked key at its next message, or while it waits', async () => {
    const { daemon } = gateway();
    const openRevoked = async (name: string) => {
      const key = await newKey(daemon, name);
      const client = await open(key);
      const { key: own } = (await account(daemon, key)) as unknown as { key: { id: string } };
      await administer(daemon, 'keys/revoke', { id: own.id });
      return client;
    };
    expect(await (await openRevoked('waits')).closed).toBe(1008);
    // The check of waiting connections may close it before its message, which then is tried again.
    await until(async () => {
      const talks = await openRevoked('talks');
      talks.create(HELLO);
      const refusal = await talks.end().catch(() => null);
      expect(await talks.closed).toBe(1008);
      return refusal?.status === 401;
    });
  });

  it('of memory hold for a message that does not end, and time too', async () => {
    const { daemon } = gateway();
    const client = new RawClient(daemon);
    await client.write(handshake());
    await client.receive(/^HTTP\/1\.1 101 /);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(LIMIT));
    await client.write(Buffer.concat([Buffer.from([0x81, 0xff]), length, Buffer.alloc(100_004)]));
    const reserved = async () => /^oriel_body_bytes (\d+)/m.exec(await daemon.metrics())?.[1];
    await until(async () => (await reserved()) === `${LIMIT}`);
    // Bytes that come all the time keep it alive, but not for longer than a body.
    const drip = setInterval(() => client.socket.write(Buffer.alloc(1)), 100);
    await once(client.socket, 'close');
    clearInterval(drip);
    expect(await reserved()).toBe('0');
  });
});

it('a client that does not answer pings is disconnected', async () => {
  const client = new RawClient(gateway().daemon);
  await client.write(handshake());
  await client.receive(/^HTTP\/1\.1 101 /);
  await once(client.socket, 'close');
});

it('a client that never reads stops its provider, and is disconnected', async () => {
  const { upstream } = gateway();
  upstream.play({ steps: [{ text: 'x' }, { fail: 'endless' }] });
  const client = await open();
  client.web.pause();
  client.create(HELLO);
  // The system's buffers of both connections take more bytes than the daemon may, so bytes are not counted here.
  const { closed } = await upstream.received();
  expect(await closed).toBe('cut');
});

it('a flood on one connection starves no other client', async () => {
  const { daemon, upstream } = gateway();
  const held = gate();
  upstream.play((_format, body) =>
    JSON.stringify(body).includes('flood') ? { ...DONE, before: held.passed } : DONE,
  );
  const flood = await open();
  for (let index = 0; index < 20_000; index += 1)
    flood.create({ ...HELLO, input: 'flood', stream_id: `s${index % 32}` });
  await upstream.received(15);
  for (let index = 0; index < 20; index += 1) {
    expect(
      (await send(daemon, 'chat', { model: MODEL, messages: [{ role: 'user', content: 'a' }] }))
        .status,
    ).toBe(200);
  }
  // No more than its share are in progress.
  const flooded = upstream.requests.filter(({ text }) => text.includes('flood'));
  expect(flooded).toHaveLength(16);
  flood.web.terminate();
  held.open();
});

describe('a daemon of its own', () => {
  const start = async (sockets: object) => {
    const upstream = await startMockUpstream();
    const daemon = await startDaemon({ config: gatewayConfig(upstream.url, { sockets }) });
    return { daemon, upstream };
  };

  it('holds 1,000 idle connections in 20 MB', async () => {
    const { daemon } = await start({});
    const open100 = () =>
      Promise.all(Array.from({ length: 100 }, () => SocketClient.open(daemon.url)));
    // The first ones load code, and grow the young generation of the heap to its usual size.
    const first = [...(await open100()), ...(await open100()), ...(await open100())];
    for (const { web } of first) web.terminate();
    await Promise.all(first.map(({ closed }) => closed));
    const before = residentMegabytes(daemon);
    for (let count = 0; count < 10; count += 1) await open100();
    expect(await daemon.metrics()).toMatch(/^oriel_sockets 1000$/m);
    const used = residentMegabytes(daemon) - before;

    expect(used).toBeLessThan(20);
  });

  it('limits the connections of an account', async () => {
    const { daemon } = await start({ perAccount: 1 });
    const first = await SocketClient.open(daemon.url);
    const { status, body, headers } = await new SocketClient(daemon.url).refusal();
    expect([status, body.error.code]).toEqual([429, 'too_many_sockets']);
    expect(headers['retry-after']).toBe('1');
    first.web.close();
    await first.closed;
    await until(async () => /^oriel_sockets 0$/m.test(await daemon.metrics()));
    await SocketClient.open(daemon.url);
  });

  it('closes a connection at its greatest age, after its answer', async () => {
    const { daemon, upstream } = await start({ lifetime: '1s' });
    const held = gate();
    upstream.play({ ...DONE, before: held.passed });
    const [idle, busy] = [await SocketClient.open(daemon.url), await SocketClient.open(daemon.url)];
    busy.create(HELLO);
    expect((await idle.end()).error.code).toBe('websocket_connection_limit_reached');
    expect(await idle.closed).toBe(1001);
    busy.create(HELLO);
    expect((await busy.end()).error.code).toBe('websocket_connection_limit_reached');
    held.open();
    await busy.next(({ type }) => type === 'response.completed');
    expect(await busy.closed).toBe(1001);
  });

  it('finishes answers before it stops, and closes the rest at once', async () => {
    const { daemon, upstream } = await start({});
    const held = gate();
    upstream.play({ ...DONE, before: held.passed });
    const [idle, busy] = [await SocketClient.open(daemon.url), await SocketClient.open(daemon.url)];
    busy.create(HELLO);
    busy.create({ ...HELLO, input: 'Waits for the first' });
    await upstream.received();
    daemon.child.kill('SIGTERM');
    expect(await idle.closed).toBe(1001);
    expect((await busy.end()).error.code).toBe('shutting_down');
    busy.create(HELLO);
    expect((await busy.end()).error.code).toBe('shutting_down');
    held.open();
    expect(await busy.end()).toMatchObject({ type: 'response.completed' });
    expect(await busy.closed).toBe(1001);
    expect((await daemon.ended).code).toBe(0);
  });

  it('forgets the oldest responses of a connection above its memory', async () => {
    const { daemon, upstream } = await start({ memoryPerSocket: '1MB' });
    upstream.play(DONE);
    const client = await SocketClient.open(daemon.url);
    const ids: string[] = [];
    for (const size of [10, 600_000, 600_000]) {
      client.create({ ...HELLO, generate: false, input: 'x'.repeat(size) });
      ids.push((await client.end()).response.id);
    }
    for (const [index, type] of ['error', 'error', 'response.completed'].entries()) {
      client.create({ ...HELLO, previous_response_id: ids[index] });
      expect((await client.end()).type).toBe(type);
    }
  });
});
