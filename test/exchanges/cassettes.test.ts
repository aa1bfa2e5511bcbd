import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CassetteSettings, CassetteUpstream } from '../../src/exchanges/cassettes/upstream.ts';
import type { RecordedAnswer } from '../../src/exchanges/exchange.ts';
import { replay } from '../../src/exchanges/replay.ts';
import { maskOf } from '../../src/exchanges/secrets.ts';
import { Failure } from '../../src/failure.ts';
import type { UpstreamRequest } from '../../src/upstream/request.ts';
import type { Upstream } from '../../src/upstream/response.ts';
import { temporaryFolder } from '../oriel.ts';
import { residentCommand } from '../resident.ts';

const oriel = residentCommand();

const KEY = 'the-key-of/a "provider"';
const SIGNAL = new AbortController().signal;
const TIMEOUTS = { connect: 0, firstByte: 0, idle: 0, total: 0 };

interface Ask {
  readonly model?: string;
  readonly path?: string;
  readonly method?: 'GET' | 'POST';
  readonly body?: unknown;
}

const asked = ({ model = 'gpt', path = '/chat', method = 'POST', body }: Ask): UpstreamRequest => ({
  exchange: { model, path },
  method,
  headers: { authorization: `Bearer ${KEY}`, 'x-request-id': `${Math.random()}` },
  ...(method === 'POST' && { body: JSON.stringify(body ?? {}) }),
  timeouts: TIMEOUTS,
  signal: SIGNAL,
});

const chunksOf = (...texts: (string | Buffer)[]): RecordedAnswer => ({
  status: 200,
  headers: { 'content-type': 'text/event-stream', 'set-cookie': 'session=1', location: `/${KEY}` },
  chunks: texts.map((text) => Buffer.from(text as string)),
  times: [0],
  end: 'complete',
});

/** A network that gives one answer after the other, and counts the requests. */
function networkOf(...answers: RecordedAnswer[]) {
  const network = {
    requests: 0,
    open(): ReturnType<Upstream['open']> {
      const answer = answers[Math.min(network.requests, answers.length - 1)]!;
      network.requests += 1;
      const abandoned = () => new Failure('service_error', 'left');
      return replay(answer, { server: 'x', pace: 'at-once', signal: SIGNAL, abandoned });
    },
  };
  return network;
}

const CLOSED: Upstream = {
  open: () => Promise.reject(new Error('a request reached the network')),
};

const openIn = (dir: string, mode: CassetteSettings['mode'], upstream: Upstream = CLOSED) =>
  CassetteUpstream.open({
    ...{ dir, mode, upstream, timing: false },
    mask: () => maskOf([KEY]),
    onFailure: () => {},
  });

/** Sends a request and reads its answer: the chunks, and the code of a failure. */
async function read(upstream: Upstream, ask: Ask = {}): Promise<string[]> {
  const chunks: string[] = [];
  try {
    const response = await upstream.open('http://host', asked(ask));
    await response.read((chunk) => chunks.push(chunk.toString('latin1')) > 0);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    chunks.push(String(error.code));
  }
  return chunks;
}

/** Records requests one after the other, and returns the folder. */
async function recorded(answers: RecordedAnswer[], asks: readonly Ask[], dir = temporaryFolder()) {
  const cassettes = await openIn(dir, 'record', networkOf(...answers));
  for (const ask of asks) await read(cassettes, ask);
  await cassettes.close();
  expect(cassettes.report).toEqual({ misses: [], failures: [] });
  return dir;
}

const filesOf = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
const bytesOf = (dir: string) =>
  filesOf(dir)
    .map((file) => readFileSync(file, 'latin1'))
    .join('\n');

const failed: RecordedAnswer = {
  ...{ status: 0, headers: {}, chunks: [], times: [0] },
  end: { type: 'network_error', code: 'connection_lost', message: `lost ${KEY}` },
};

describe('cassettes', () => {
  it.each([
    [
      'a stream, chunk by chunk',
      chunksOf('data: 1\n', '\nda', 'ta: 2\n\n'),
      ['data: 1\n', '\nda', 'ta: 2\n\n'],
    ],
    ['bytes', chunksOf(Buffer.from([0, 255, 1])), ['\0\xff\x01']],
    ['a request that got no answer', failed, ['connection_lost']],
    [
      'a stream that broke off',
      { ...chunksOf('data: 1\n\n'), end: failed.end },
      ['data: 1\n\n', 'connection_lost'],
    ],
  ])('replay %s', async (_, answer, expected) => {
    const dir = await recorded([answer], [{}]);
    const cassettes = await openIn(dir, 'replay');
    expect(await read(cassettes)).toEqual(expected);
    expect(await read(cassettes)).toEqual(expected);
  });

  it('replay equal requests in the order in which they began, and repeat the last answer', async () => {
    const dir = temporaryFolder();
    const network = networkOf(chunksOf('one'), chunksOf('two'));
    const recording = await openIn(dir, 'record', network);
    const responses = [
      await recording.open('http://host', asked({})),
      await recording.open('http://host', asked({})),
    ];
    for (const response of responses.toReversed()) await response.bytes(100);
    await recording.close();
    const cassettes = await openIn(dir, 'replay');
    const answers = [await read(cassettes), await read(cassettes), await read(cassettes)];
    expect(answers.flat()).toEqual(['one', 'two', 'two']);
  });

  it('keep equal answers to polls once, and remove the longer tail of an earlier recording', async () => {
    const poll = { method: 'GET', path: '/videos/1' } as const;
    const [waits, done] = [chunksOf('{"status":"queued"}'), chunksOf('{"status":"done"}')];
    const dir = await recorded([waits, waits, waits, done], [poll, poll, poll, poll]);
    expect(filesOf(dir)).toHaveLength(2);
    await recorded([done], [poll], dir);
    expect(filesOf(dir)).toHaveLength(1);
    expect(await read(await openIn(dir, 'replay'), poll)).toEqual(['{"status":"done"}']);
  });

  it('record only what is missing, and what was cut off', async () => {
    const dir = await recorded([chunksOf('one')], [{ body: { a: 1 } }]);
    const recording = await openIn(dir, 'record', networkOf(chunksOf('cut', 'off')));
    const response = await recording.open('http://host', asked({ body: { a: 2 } }));
    const reading = response.read(() => {
      response.abort();
      return true;
    });
    await expect(reading).rejects.toThrow();
    await recording.close();
    expect(await read(await openIn(dir, 'replay'), { body: { a: 2 } })).toEqual([
      'cut',
      'cassette_miss',
    ]);
    const network = networkOf(chunksOf('new'));
    const missing = await openIn(dir, 'record-missing', network);
    const answers = [1, 2, 3, 3].map((a) => read(missing, { body: { a } }));
    expect((await Promise.all(answers)).flat()).toEqual(['one', 'new', 'new', 'new']);
    await missing.close();
    expect(network.requests).toBe(3);
    expect(await read(await openIn(dir, 'replay'), { body: { a: 2 } })).toEqual(['new']);
  });

  it('send requests to others than providers to the network', async () => {
    const network = networkOf(chunksOf('sent'));
    const cassettes = await openIn(temporaryFolder(), 'replay', network);
    const { exchange: _, ...request } = asked({});
    await cassettes.open('http://callback', request);
    expect(network.requests).toBe(1);
  });

  const chat = (content: string, more = {}) => ({
    body: { messages: [{ content: 'Be brief.' }, { content }], ...more },
  });
  it.each<[string, Ask, string]>([
    [
      'a changed prompt',
      chat('Paint a small picture of a blue barn'),
      'messages[1].content: recorded "…small picture of a red barn", requested "…small picture of a blue barn"',
    ],
    [
      'a new field',
      chat('Paint a small picture of a red barn', { top_p: 1 }),
      'top_p: recorded nothing, requested 1',
    ],
    [
      'another model',
      { ...chat('Paint a small picture of a red barn'), model: 'other' },
      'model: recorded "gpt", requested "other"',
    ],
    [
      'another path',
      { ...chat('Paint a small picture of a red barn'), path: '/x' },
      'path: recorded "/chat", requested "/x"',
    ],
    ['a secret', chat(`Paint ${KEY}`), `requested "Paint ${'*'.repeat(KEY.length)}"`],
  ])(
    'name the nearest recording and the first field that differs for %s',
    async (_, ask, difference) => {
      const dir = await recorded(
        [chunksOf('x')],
        [
          chat('Paint a small picture of a red barn'),
          chat('Write a poem'),
          { path: '/embeddings' },
        ],
      );
      const cassettes = await openIn(dir, 'replay');
      const failure = await cassettes.open('http://host', asked(ask)).catch((error) => error);
      expect(failure).toMatchObject({ code: 'cassette_miss', status: 502 });
      expect(failure.message).toContain(difference);
      expect(cassettes.report.misses).toEqual([
        { model: ask.model ?? 'gpt', message: failure.message },
      ]);
    },
  );

  it.each([
    ['in an answer', chunksOf(`a ${KEY} b`)],
    ['split over two chunks', chunksOf(`a ${KEY.slice(0, 8)}`, `${KEY.slice(8)} b`)],
    ['escaped in JSON', chunksOf(JSON.stringify({ a: KEY }))],
    ['escaped by code', chunksOf(`{"a":"\\u0074he-key-of\\/a \\"provider\\""}`)],
    ['in JSON within JSON', chunksOf(JSON.stringify({ a: JSON.stringify({ b: KEY }) }))],
    ['in the message of a failure', failed],
    ['of the usual form, split', chunksOf('Wrong key sk-proj-abcdefgh', 'ijklmnop12345678')],
    ['in a signed URL', chunksOf('{"url":"https://x/y?a=1\\u0026sig=abcdefghijkl-secret"}')],
    [
      'of an account',
      chunksOf('in organization org-abcdefghijklmnop12345678 and {"account_id":"1234-5678"}'),
    ],
  ])('hold no secret %s', async (_, answer) => {
    const dir = await recorded([answer], [{ body: { secret: `it is ${KEY}` } }]);
    const bytes = bytesOf(dir);
    for (const secret of [
      'key-of',
      'provider\\',
      'session=1',
      'efghijk',
      'klmnop',
      '5678"',
      'x-request-id',
    ]) {
      expect(bytes).not.toContain(secret);
    }
    const cassettes = await openIn(dir, 'replay');
    const replayed = await read(cassettes, { body: { secret: `it is ${KEY}` } });
    const lengths = answer.chunks.map(({ length }) => length);
    expect(replayed.slice(0, lengths.length).map(({ length }) => length)).toEqual(lengths);
    expect(replayed.join('')).not.toContain('key-of');
  });

  it.each([
    '../../x',
    '/etc',
    'CON',
    'nul.txt',
    '..',
    '.',
    '',
    'blobs',
    'ü'.repeat(300),
    'a\0b',
    'a\\b',
  ])('stay in their folder for a model %j', async (model) => {
    const parent = temporaryFolder();
    const dir = join(parent, 'in');
    await recorded([chunksOf('x')], [{ model }], dir);
    expect(readdirSync(parent)).toEqual(['in']);
    expect(filesOf(dir)).toHaveLength(1);
    expect(await read(await openIn(dir, 'replay'), { model })).toEqual(['x']);
  });

  it.each([
    ['a removed folder', (dir: string) => rmSync(dir, { recursive: true }), /ENOENT/],
    ['a link', (dir: string) => symlinkSync(temporaryFolder(), join(dir, 'gpt')), /ENOTDIR/],
  ])('fail the recording and not the client for %s', async (_, breakIt, reason) => {
    const dir = join(temporaryFolder(), 'in');
    const cassettes = await openIn(dir, 'record', networkOf(chunksOf('x')));
    breakIt(dir);
    expect(await read(cassettes)).toEqual(['x']);
    expect(await read(cassettes)).toEqual(['x']);
    await cassettes.close();
    expect(cassettes.report.failures).toEqual([expect.stringMatching(reason)]);
  });

  it('are not torn by two processes that record the same', async () => {
    const dir = temporaryFolder();
    const bodies = Array.from({ length: 20 }, (_, a) => ({ body: { a } }));
    await Promise.all([1, 2].map(() => recorded([chunksOf('x'.repeat(9999))], bodies, dir)));
    expect(filesOf(dir)).toHaveLength(20);
    const cassettes = await openIn(dir, 'replay');
    for (const ask of bodies) expect(await read(cassettes, ask)).toEqual(['x'.repeat(9999)]);
  });

  it('stop the start of a replay where one is cut off, and are recorded anew', async () => {
    const dir = await recorded([chunksOf('x')], [{}]);
    const [file] = filesOf(dir);
    writeFileSync(file!, readFileSync(file!, 'utf8').slice(0, 100));
    await expect(openIn(dir, 'replay')).rejects.toThrow(/^.*gpt\/\w+\.json:\d+: expected JSON/);
    await recorded([chunksOf('x')], [{}], dir);
    expect(await read(await openIn(dir, 'replay'))).toEqual(['x']);
  });

  it.each(['replay', 'record'] as const)(
    'stop the start where %s cannot use the folder',
    async (mode) => {
      const file = join(temporaryFolder(), 'file');
      writeFileSync(file, '');
      await expect(openIn(join(file, 'dir'), mode)).rejects.toThrow(
        /folder of cassettes cannot be/,
      );
    },
  );
});

describe('oriel cassettes', () => {
  it('lists, compares, prunes and scans folders', async () => {
    const before = await recorded(
      [chunksOf('one'), chunksOf(Buffer.alloc(9, 255))],
      [{ body: { prompt: 'A red\nbarn' } }, { body: { b: 2 } }],
    );
    const after = await recorded(
      [chunksOf('two')],
      [{ body: { prompt: 'A red\nbarn' } }, { body: { b: 3 } }],
    );
    onTestFinished(() => rmSync(before, { recursive: true, force: true }));
    const listed = JSON.parse((await oriel(['cassettes', 'list', before, '--json'])).out);
    expect(listed.cassettes.map(({ prompt }: { prompt: string }) => prompt).toSorted()).toEqual([
      '',
      'A red barn',
    ]);
    const { status, out } = await oriel(['cassettes', 'diff', before, after]);
    expect([status, out]).toEqual([
      1,
      expect.stringMatching(/body\[0\]: before "one", after "two"/),
    ]);
    expect(out).toContain('b: before 2, after 3');
    expect((await oriel(['cassettes', 'diff', before, before])).status).toBe(0);
    const used = join(temporaryFolder(), 'used');
    const [kept] = listed.cassettes.filter(({ prompt }: { prompt: string }) => prompt !== '');
    writeFileSync(used, `${kept.file}\n`);
    const pruned = await oriel(['cassettes', 'prune', before, '--used', used]);
    expect(pruned.out).toContain('2 files removed, 1 kept');
    expect(existsSync(join(before, kept.file))).toBe(true);
    expect((await oriel(['cassettes', 'scan', before])).status).toBe(0);
    mkdirSync(join(before, 'blobs'), { recursive: true });
    writeFileSync(
      join(before, 'blobs', 'a.bin'),
      Buffer.concat([Buffer.from([255]), Buffer.from('value-of-a-variable')]),
    );
    writeFileSync(
      join(before, kept.file),
      `${readFileSync(join(before, kept.file), 'utf8')}\nsk-abcdefghijklmnopqrst`,
    );
    const scanned = await oriel(['cassettes', 'scan', before], {
      env: { MY_TOKEN: 'value-of-a-variable' },
    });
    expect([scanned.status, scanned.out.match(/possible secret/g)]).toEqual([
      1,
      ['possible secret'],
    ]);
    expect(scanned.out).toMatch(/a\.bin:1: [^\n]*\n[^\n]*\.json:\d+: sk-\*+\n2 possible/);
  });
});
