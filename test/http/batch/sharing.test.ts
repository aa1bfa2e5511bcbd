import { describe, expect, test } from 'vitest';
import { hashOf } from '../../../src/store/key.ts';
import { readArchive } from '../../cli/archive.ts';
import { photo } from '../../fixtures/images.ts';
import { until } from '../../fixtures/until.ts';
import { gate } from '../../gate.ts';
import { imageOf, manualPool } from '../manual-pool.ts';
import { RawClient } from '../raw-client.ts';
import { KEYS, ownServer, type TestServer } from '../test-server.ts';
import { bodyOf, fieldPart, filePart, formOf, headOf, send } from './form.ts';

const MEGABYTE = 1024 * 1024;
const CONVERT = 'batch-convert-images';

const untilMetrics = (server: TestServer, text: string) =>
  until(async () => (await server.metrics()).includes(text));

const copies = (count: number, image: Uint8Array) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}.jpg`, image]));
const tiny = (count: number) => formOf(copies(count, Buffer.from('x')), { format: 'png' });
const errors = ({ log }: TestServer) => log.filter(({ level }) => level === 'error');

/** A request whose answer the test reads when it likes. */
async function post(server: TestServer, files: number): Promise<RawClient> {
  const parts = Array.from({ length: files }, (_, index) => filePart(`${index}`, 'x'));
  const body = bodyOf([...parts, fieldPart('format', 'png')]);
  const client = new RawClient(server);
  await client.write(headOf(CONVERT, { 'Content-Length': `${body.length}` }));
  await client.write(body);
  return client;
}

describe('accounts', () => {
  test('do not wait for the queues of other accounts', async () => {
    const server = await ownServer({ config: { pool: { threads: 1 } } });
    const large = await photo({ width: 900, height: 900 }).jpeg().toBuffer();
    const order: string[] = [];
    const first = send(server, CONVERT, formOf(copies(20, large), { format: 'webp' })).then(
      (sent) => {
        order.push('twenty large ones');
        return sent;
      },
    );
    await until(() => server.pool.statistics().running > 0);
    const second = await send(server, CONVERT, formOf(copies(1, large), { format: 'webp' }), {
      key: KEYS.b,
    });
    order.push('one');
    expect(second.status).toBe(200);
    expect(readArchive((await first).bytes)).toHaveLength(21);
    expect(order).toEqual(['one', 'twenty large ones']);
  });

  test('that send two batches at once get two complete responses', async () => {
    const server = await ownServer({});
    const image = await photo({ width: 200, height: 200 }).jpeg().toBuffer();
    const answers = await Promise.all(
      [KEYS.a, KEYS.a, KEYS.b].map((key) =>
        send(server, CONVERT, formOf(copies(10, image), { format: 'png' }), { key }),
      ),
    );
    const [one, ...others] = answers.map(({ bytes }) =>
      readArchive(bytes)
        .slice(0, -1)
        .map((entry) => `${entry.name} ${hashOf(entry.bytes.toString('latin1'))}`),
    );
    expect(one).toHaveLength(10);
    for (const other of others) expect(other).toEqual(one);
  });
});

describe('batches', () => {
  test('wait in a queue and are refused when it is full', async () => {
    const { passed, open } = gate();
    const pool = manualPool(2, () => passed.then(() => imageOf(10)));
    const server = await ownServer({ pool, config: { batch: { concurrency: 1, queue: 1 } } });
    const running = send(server, CONVERT, tiny(1));
    await until(() => pool.started === 1);
    const waiting = send(server, CONVERT, tiny(1), { key: KEYS.b });
    await untilMetrics(server, 'oriel_batches_waiting 1');
    const refused = await send(server, CONVERT, tiny(1));
    expect([refused.status, refused.json.error?.type, refused.json.error?.code]).toEqual([
      503,
      'service_error',
      'overloaded',
    ]);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    open();
    expect((await running).status).toBe(200);
    expect((await waiting).status).toBe(200);
    expect(await server.metrics()).toMatch(
      /oriel_batches_total\{endpoint="batch-convert-images",outcome="completed"\} 2/,
    );
  });

  test('that are still being uploaded hold no slot', async () => {
    const server = await ownServer({ config: { batch: { concurrency: 1, queue: 0 } } });
    const slow = new RawClient(server);
    await slow.write(headOf(CONVERT, { 'Content-Length': '5000' }));
    await slow.write(bodyOf([filePart('a', 'x'.repeat(1000))]).subarray(0, -16));
    await until(() => server.files().length === 1);
    expect((await send(server, CONVERT, tiny(1))).status).toBe(200);
    slow.socket.destroy();
    await server.idle();
  });
});

describe('a client that disconnects', () => {
  test.each([
    ['before its answer begins', 0],
    ['in the middle of its answer', 3],
  ])('%s stops its batch', async (_, done) => {
    const { passed, open } = gate();
    const pool = manualPool(2, (_job, number) => {
      return number <= done ? imageOf(MEGABYTE) : passed.then(() => imageOf(10));
    });
    const server = await ownServer({ pool });
    const client = await post(server, 20);
    await until(() => pool.started === done + 2);
    if (done > 0) await client.receive(/^HTTP\/1\.1 200 /);
    client.socket.destroy();
    // It waits for the two under way, which cannot be called back.
    await server.disconnected();
    open();
    await untilMetrics(server, 'outcome="abandoned"');
    await server.idle();
    expect(pool.started).toBe(done + 2);
    expect(errors(server)).toEqual([]);
  });

  test('while its batch waits removes it from the queue', async () => {
    const { passed, open } = gate();
    const pool = manualPool(1, () => passed.then(() => imageOf(10)));
    const server = await ownServer({ pool, config: { batch: { concurrency: 1 } } });
    const running = send(server, CONVERT, tiny(1));
    await until(() => pool.started === 1);
    const waiting = await post(server, 1);
    await untilMetrics(server, 'oriel_batches_waiting 1');
    waiting.socket.destroy();
    await untilMetrics(server, 'oriel_batches_waiting 0');
    await until(() => server.files().length === 1);
    open();
    expect((await running).status).toBe(200);
    await server.idle();
    expect(pool.started).toBe(1);
  });

  test('has its uploads deleted', async () => {
    const { passed, open } = gate();
    const pool = manualPool(1, () => passed.then(() => imageOf(10)));
    const server = await ownServer({ pool });
    const [leaving, staying] = [await post(server, 20), send(server, CONVERT, tiny(2))];
    await until(() => pool.started === 1 && pool.statistics().waiting === 1);
    leaving.socket.destroy();
    open();
    expect((await staying).status).toBe(200);
    await server.idle();
  });
});

describe('a client that reads', () => {
  test('slowly slows the batch down, so that memory stays limited', async () => {
    const size = 4 * MEGABYTE;
    const pool = manualPool(2, () => imageOf(size));
    const server = await ownServer({
      pool,
      config: { batch: { concurrency: 2, memory: '16MB' } },
    });
    const client = await post(server, 20);
    let read = 0;
    let most = 0;
    client.socket.removeAllListeners('data');
    for await (const chunk of client.socket) {
      read += (chunk as Buffer).length;
      most = Math.max(most, pool.started * size - read);
      if (read > 20 * size) break;
    }
    client.socket.destroy();
    // Its share of the memory and what two threads give beyond it, two images in the archive and one
    // on its way there, and what the system takes from us before the client does.
    expect(most).toBeLessThanOrEqual(8 * MEGABYTE + 2 * size + 3 * size + 10 * MEGABYTE);
    expect(pool.started).toBe(20);
  });

  test('nothing for server.sendTimeout is disconnected', async () => {
    const pool = manualPool(2, () => imageOf(8 * MEGABYTE));
    const server = await ownServer({ pool, config: { server: { sendTimeout: '1s' } } });
    const client = await post(server, 20);
    await client.receive(/^HTTP\/1\.1 200 /);
    client.socket.pause();
    await untilMetrics(server, 'outcome="abandoned"');
    await server.idle();
    expect(pool.started).toBeLessThan(20);
    const message = 'disconnected a client that did not read its response';
    expect(server.log).toContainEqual(expect.objectContaining({ level: 'warn', msg: message }));
    client.socket.destroy();
  });
});

describe('a defect', () => {
  test('in the middle of a ZIP ends the connection without the last chunk', async () => {
    const { passed, open } = gate();
    const pool = manualPool(1, async (_job, number) => {
      if (number === 1) return imageOf(MEGABYTE);
      await passed;
      throw new Error('on purpose');
    });
    const server = await ownServer({ pool });
    const client = await post(server, 3);
    await client.receive(/^HTTP\/1\.1 200 /);
    open();
    const answer = await client.whole();
    expect(answer).toMatch(/^HTTP\/1\.1 200 [\s\S]*transfer-encoding: chunked/i);
    expect(answer.endsWith('0\r\n\r\n')).toBe(false);
    await server.idle();
    expect(errors(server)).toMatchObject([{ msg: 'a defect, please report it' }]);
  });

  test.each([CONVERT, 'batch-color-palette'])(
    'before an answer is a plain error: %s',
    async (endpoint) => {
      const pool = manualPool(1, () => {
        throw new Error('on purpose');
      });
      const server = await ownServer({ pool });
      const fields: Record<string, string> = endpoint === CONVERT ? { format: 'png' } : {};
      const form = formOf({ 'a.png': Buffer.from('x') }, fields);
      const { status, json } = await send(server, endpoint, form);
      expect([status, json.error?.code]).toEqual([500, 'internal_error']);
      await server.idle();
    },
  );
});
