import { randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RawClient } from '../raw-client.ts';
import { KEYS, ownServer, sharedServer } from '../test-server.ts';
import { bodyOf, FORM_TYPE, fieldPart, filePart, formOf, headOf, send } from './form.ts';

const MEGABYTE = 1024 * 1024;
const HASH = 'batch-image-hash';

const server = sharedServer();

const many = (count: number) =>
  bodyOf(Array.from({ length: count }, (_, index) => filePart(`${index}`, 'x')));

describe('a batch of twenty files', () => {
  test('is accepted, with results in the same order', async () => {
    const { status, json } = await send(server(), HASH, many(20));
    expect(status).toBe(200);
    const { results } = json as { results: { inputFilename: string; index: number }[] };
    expect(results.map(({ inputFilename }) => Number(inputFilename))).toEqual(
      Array.from({ length: 20 }, (_, index) => index),
    );
  });

  test('and one more is refused as soon as that file begins', async () => {
    const { status, json } = await send(server(), HASH, many(21));
    expect([status, json.error?.param]).toEqual([400, 'files']);
    const client = new RawClient(server());
    await client.write(headOf(HASH, { 'Content-Length': `${50 * MEGABYTE}` }));
    await client.write(many(20).subarray(0, -16));
    await client.write(bodyOf([filePart('20', 'x'.repeat(1000))]).subarray(0, -200));
    expect(await client.receive(/\}\}\n$/)).toMatch(/^HTTP\/1\.1 400 [\s\S]*connection: close/i);
    client.socket.destroy();
    await server().idle();
  });
});

describe('a file of thirty megabytes', () => {
  test('is accepted; with one byte more it fails alone', async () => {
    const [fits, exceeds] = [randomBytes(30 * MEGABYTE), randomBytes(30 * MEGABYTE + 1)];
    const files = { 'exceeds.bin': exceeds, 'fits.bin': fits, 'small.bin': Buffer.from('x') };
    const { status, json } = await send(server(), HASH, formOf(files));
    expect(status).toBe(200);
    expect(json).toMatchObject({
      summary: { total: 3, succeeded: 2, failed: 1, originalBytes: 60 * MEGABYTE + 2 },
      results: [
        {
          status: 'failed',
          originalSize: 30 * MEGABYTE + 1,
          error: {
            code: 'file_too_large',
            message: '31457281 bytes, more than the limit of 30 MiB',
          },
        },
        { status: 'succeeded', originalSize: 30 * MEGABYTE },
        { status: 'succeeded', originalSize: 1 },
      ],
    });
    expect(server().files()).toEqual([]);
  });
});

describe('a request of more than a hundred megabytes', () => {
  test('is refused by Content-Length before its body is read', async () => {
    const client = new RawClient(server());
    await client.write(headOf(HASH, { 'Content-Length': `${100 * MEGABYTE + 1}` }));
    expect(await client.receive(/\}\}\n$/)).toMatch(/^HTTP\/1\.1 413 [\s\S]*request_too_large/);
    client.socket.destroy();
  });

  test('is refused before it is sent if the client expects 100-continue', async () => {
    const client = new RawClient(server());
    const headers = { 'Content-Length': `${100 * MEGABYTE + 1}`, Expect: '100-continue' };
    await client.write(headOf(HASH, headers));
    expect(await client.whole()).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('in chunks is refused while it arrives, and a client that only sends gets the response', async () => {
    const client = new RawClient(server());
    await client.write(headOf(HASH, { 'Transfer-Encoding': 'chunked', Connection: 'close' }));
    const piece = randomBytes(MEGABYTE);
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), piece, Buffer.from('\r\n')]);
    for (let file = 0; file < 6; file += 1) {
      const part = bodyOf([filePart(`${file}`, '')]).subarray(0, -18);
      await client.write(`${part.length.toString(16)}\r\n${part}\r\n`);
      for (let count = 0; count < 20; count += 1) await client.write(chunk);
      await client.write('2\r\n\r\n\r\n');
    }
    await client.write('0\r\n\r\n');
    const answer = await client.whole();
    expect(answer).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close[\s\S]*request_too_large/i);
    await server().idle();
  });
});

test('a client whose key is refused gets the response although it continues to send', async () => {
  const client = new RawClient(server());
  const body = bodyOf([filePart('a', randomBytes(20 * MEGABYTE))]);
  const headers = { Authorization: 'Bearer nobody', 'Content-Length': `${body.length}` };
  await client.write(headOf(HASH, headers));
  await client.write(body);
  expect(await client.whole()).toMatch(/^HTTP\/1\.1 401 [\s\S]*\}\}\n$/);
});

describe('the spool', () => {
  test('has a limit: a request beyond it is refused before it is sent', async () => {
    const own = await ownServer({ config: { batch: { spool: '100MB' } } });
    const first = new RawClient(own);
    await first.write(headOf(HASH, { 'Content-Length': `${90 * MEGABYTE}` }));
    for (let file = 0; file < 3; file += 1) {
      await first.write(bodyOf([filePart(`${file}`, randomBytes(20 * MEGABYTE))]).subarray(0, -16));
    }
    while (own.spool.bytes < 60 * MEGABYTE) await new Promise(setImmediate);
    const { status, headers, json } = await send(
      own,
      HASH,
      formOf({ a: randomBytes(50 * MEGABYTE) }),
      {
        key: KEYS.b,
      },
    );
    expect([status, json.error?.code]).toEqual([503, 'overloaded']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    first.socket.destroy();
    await own.idle();
    expect((await send(own, HASH, formOf({ a: Buffer.from('x') }), { key: KEYS.b })).status).toBe(
      200,
    );
  });

  test('has a limit for chunked requests, and leaves other accounts room', async () => {
    const own = await ownServer({ config: { batch: { spool: '100MB' } } });
    const first = new RawClient(own);
    await first.write(headOf(HASH, { 'Content-Length': `${90 * MEGABYTE}` }));
    for (let file = 0; file < 4; file += 1) {
      await first.write(bodyOf([filePart(`${file}`, randomBytes(20 * MEGABYTE))]).subarray(0, -16));
    }
    while (own.spool.bytes < 80 * MEGABYTE) await new Promise(setImmediate);
    const stream = new Blob([bodyOf([filePart('b', randomBytes(25 * MEGABYTE))])]).stream();
    const { status, json } = await send(own, HASH, stream as ReadableStream, { key: KEYS.b });
    expect([status, json.error?.code]).toEqual([503, 'overloaded']);
    const small = formOf({ a: randomBytes(MEGABYTE) });
    const further = await send(own, HASH, small);
    expect([further.status, further.json.error?.code]).toEqual([429, 'too_many_large_requests']);
    expect((await send(own, HASH, small, { key: KEYS.b })).status).toBe(200);
    expect(own.spool.bytes).toBe(80 * MEGABYTE);
    first.socket.destroy();
    await own.idle();
  });

  test('is readable by its owner alone', async () => {
    const client = new RawClient(server());
    await client.write(headOf(HASH, { 'Content-Length': '100000' }));
    await client.write(bodyOf([filePart('../../a', 'x'.repeat(1000))]).subarray(0, -16));
    while (server().spool.bytes < 1000) await new Promise(setImmediate);
    const [file] = server().files();
    expect(file).toMatch(/^[0-9a-f-]{36}$/);
    expect(statSync(join(server().spoolFolder, file!)).mode & 0o777).toBe(0o600);
    expect(statSync(server().spoolFolder).mode & 0o777).toBe(0o700);
    client.socket.destroy();
    await server().idle();
    expect(readdirSync(server().spoolFolder)).toEqual([]);
  });
});

describe('a client that disconnects while it sends', () => {
  test.each([
    ['in the middle of a file', bodyOf([filePart('a', randomBytes(MEGABYTE))]).subarray(0, -9000)],
    ['between files', bodyOf([filePart('a', randomBytes(MEGABYTE))]).subarray(0, -16)],
    ['in a field', bodyOf([filePart('a', 'x'), fieldPart('perceptual', 'none')]).subarray(0, -20)],
  ])('%s leaves no file in the spool', async (_, body) => {
    const before = server().log.length;
    const client = new RawClient(server());
    await client.write(headOf(HASH, { 'Content-Length': '5000000', 'Content-Type': FORM_TYPE }));
    await client.write(body);
    while (server().files().length === 0) await new Promise(setImmediate);
    client.socket.destroy();
    await server().idle();
    expect(await server().metrics()).toMatch(/oriel_batches_total\{[^}]*outcome="abandoned"\}/);
    const loud = server()
      .log.slice(before)
      .filter(({ level }) => level !== 'info');
    expect(loud).toEqual([]);
  });
});

test('a slow upload ends after server.requestTimeout', async () => {
  const own = await ownServer({ config: { server: { requestTimeout: '1s' } } });
  const client = new RawClient(own);
  await client.write(headOf(HASH, { 'Content-Length': '5000000' }));
  await client.write(bodyOf([filePart('a', randomBytes(1000))]).subarray(0, -20));
  expect(await client.whole()).toMatch(/^HTTP\/1\.1 408 /);
  await own.idle();
  expect(own.log.filter(({ level }) => level === 'error')).toEqual([]);
});
