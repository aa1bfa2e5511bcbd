import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OWNER_KEY, sharedDaemon } from '../../daemon.ts';
import { quadrants } from '../../fixtures/images.ts';
import { runs } from '../../runs.ts';
import { RawClient } from '../raw-client.ts';

// What waits for the rest of a request that never comes is ended soon.
const daemon = sharedDaemon({
  config: { limits: { paid: { rpm: 1_000_000 } }, server: { requestTimeout: '5s' } },
});

/** Sends bytes and gives the statuses of all answers, once the server has closed the connection. */
async function statuses(bytes: Uint8Array): Promise<number[]> {
  const client = new RawClient(daemon());
  client.socket.on('data', (chunk: Buffer) => {
    if (chunk.includes('Connection: keep-alive')) client.socket.end();
  });
  void client.write(bytes);
  const text = await client.whole();
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

function request(body: Uint8Array): Buffer {
  const head =
    `POST /api/free/batch-convert-images HTTP/1.1\r\nHost: oriel\r\nConnection: close\r\n` +
    `Authorization: Bearer ${OWNER_KEY}\r\nContent-Type: multipart/form-data; boundary=b\r\n` +
    `Content-Length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

async function form(): Promise<Buffer> {
  const image = await quadrants({ width: 16, height: 16 }).png().toBuffer();
  return Buffer.concat([
    Buffer.from('--b\r\nContent-Disposition: form-data; name="format"\r\n\r\nwebp\r\n'),
    Buffer.from('--b\r\nContent-Disposition: form-data; name="files"; filename="a.png"\r\n'),
    Buffer.from('Content-Type: image/png\r\n\r\n'),
    image,
    Buffer.from('\r\n--b--\r\n'),
  ]);
}

/** Removes and inserts bytes at a place. */
const mutation = fc.record({
  at: fc.nat(10_000),
  remove: fc.integer({ min: 0, max: 40 }),
  insert: fc.oneof(
    fc.uint8Array({ maxLength: 8 }),
    fc
      .constantFrom(
        '\r\n',
        '--b',
        '--b--',
        '\0',
        '"',
        ';',
        ': ',
        'Content-Length: 5\r\n',
        '\r\n\r\n',
      )
      .map((text) => new Uint8Array(Buffer.from(text))),
  ),
});
type Mutation = typeof mutation extends fc.Arbitrary<infer Value> ? Value : never;

function mutate(bytes: Buffer, mutations: readonly Mutation[]): Buffer {
  return mutations.reduce((whole, { at, remove, insert }) => {
    const place = at % (whole.length + 1);
    return Buffer.concat([whole.subarray(0, place), insert, whole.subarray(place + remove)]);
  }, bytes);
}

const mutations = fc.array(mutation, { minLength: 1, maxLength: 3 });

describe('random bytes', () => {
  it('in a form get a response and cause no defect', async () => {
    const whole = await form();
    expect(await statuses(request(whole))).toEqual([200]);
    await fc.assert(
      fc.asyncProperty(mutations, async (some) => {
        const answers = await statuses(request(mutate(whole, some)));
        for (const status of answers) expect([200, 400, 413, 415]).toContain(status);
      }),
      { numRuns: runs(300) },
    );
  });

  it('as a request get a response and cause no defect', async () => {
    const whole = request(await form());
    const known = [200, 400, 401, 404, 405, 408, 411, 413, 415, 417, 431, 501];
    const samples = fc.sample(mutations, 300);
    // Together, since many of them end only when the server waits no longer.
    const answers = await Promise.all(samples.map((some) => statuses(mutate(whole, some))));
    for (const [index, answer] of answers.entries()) {
      expect(answer.length, JSON.stringify(samples[index])).toBeGreaterThan(0);
      for (const status of answer) expect(known, JSON.stringify(samples[index])).toContain(status);
    }
  });

  it('in a query get a response and cause no defect', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(
          'account',
          'account/credits',
          'account/usage',
          'tasks',
          'models',
          'models/x',
        ),
        fc.webQueryParameters(),
        async (path, query) => {
          const { status } = await daemon().request(`/v1/${path}?${query}`);
          expect([200, 400, 404]).toContain(status);
        },
      ),
      { numRuns: runs(200) },
    );
  });

  it('leave no logged defect and no upload', async () => {
    expect(daemon().log.filter(({ level }) => level === 'error')).toEqual([]);
    const metrics = await daemon().metrics();
    expect(metrics).toMatch(/^oriel_spool_bytes 0$/m);
    expect(metrics).toMatch(/^oriel_batches_running 0$/m);
  });
});
