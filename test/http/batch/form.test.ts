import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { quadrants } from '../../fixtures/images.ts';
import { RawClient } from '../raw-client.ts';
import { startServer, type TestServer } from '../test-server.ts';
import { bodyOf, fieldPart, filePart, formOf, headOf, type PartSource, send } from './form.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.close());

const HASH = 'batch-image-hash';
const names = async (body: Buffer, type?: string) => {
  const { status, json } = await send(server, HASH, body, type === undefined ? {} : { type });
  expect([status, json.error]).toEqual([200, undefined]);
  return (json as { results: { inputFilename: string }[] }).results.map((one) => one.inputFilename);
};
const withHeaders = (disposition: string): PartSource => ({
  headers: `Content-Disposition: form-data; name="files"; ${disposition}`,
  body: 'x',
});

describe('file names', () => {
  test.each([
    ['in UTF-8 as browsers send them', 'filename="Été 日本 🙂.jpg"', 'Été 日本 🙂.jpg'],
    ['quotes as browsers escape them', 'filename="a%22b%0D%0Ac.jpg"', 'a"b\r\nc.jpg'],
    ['quotes as older curl escapes them', 'filename="a\\"b\\\\c.jpg"', 'a"b\\c.jpg'],
    ['without quotes', 'filename=plain.jpg', 'plain.jpg'],
    ['a semicolon within quotes', 'filename="a;b=c.jpg"', 'a;b=c.jpg'],
    ['extended notation', "filename*=UTF-8''%C3%89t%C3%A9.jpg", 'Été.jpg'],
    ['both notations', "filename=x.jpg; filename*=utf-8''%C3%89t%C3%A9.jpg", 'Été.jpg'],
    ['a path', 'filename="holiday/../../etc/passwd"', 'holiday/../../etc/passwd'],
    ['a path of Windows', 'filename="C:\\fakepath\\a.jpg"', 'C:\\fakepath\\a.jpg'],
    ['none but bytes', 'filename=""', ''],
    ['a percent sign that escapes nothing', 'filename="100%.jpg"', '100%.jpg'],
    ['what Object has', 'filename="__proto__"', '__proto__'],
  ])('%s', async (_, disposition, expected) => {
    expect(await names(bodyOf([withHeaders(disposition)]))).toEqual([expected]);
  });

  test('of more than 1024 characters are refused', async () => {
    const { status, json } = await send(server, HASH, bodyOf([filePart('a'.repeat(1025), 'x')]));
    expect([status, json.error?.param]).toEqual([400, 'files']);
  });
});

describe('forms', () => {
  test('made by undici are accepted', async () => {
    const image = await quadrants({ width: 8, height: 8 }).png().toBuffer();
    const { status, json } = await send(server, HASH, formOf({ 'é"ü.png': image, 'b.png': image }));
    expect(status).toBe(200);
    expect(json).toMatchObject({
      operation: 'hash',
      status: 'completed',
      summary: { total: 2, succeeded: 2, failed: 0, originalBytes: image.length * 2 },
      results: [
        { index: 0, inputFilename: 'é"ü.png', status: 'succeeded', originalSize: image.length },
        { index: 1, inputFilename: 'b.png' },
      ],
    });
  });

  test('with empty fields are read as without them', async () => {
    const image = await quadrants({ width: 8, height: 8 }).png().toBuffer();
    const parts = [filePart('a.png', image), fieldPart('perceptual', ''), fieldPart('files', '')];
    const { status, json } = await send(server, HASH, bodyOf(parts));
    expect([status, json]).toMatchObject([200, { summary: { total: 1, succeeded: 1 } }]);
    const none = await send(
      server,
      'batch-convert-images',
      bodyOf([parts[0]!, fieldPart('format', '')]),
    );
    expect([none.status, none.json.error?.message]).toEqual([
      400,
      expect.stringMatching(/^format is required: one of .*$/),
    ]);
  });

  const [one, two] = [filePart('1', 'x'), filePart('2', 'y')];
  const wrap = (before: string, after: string) =>
    Buffer.concat([Buffer.from(before), bodyOf([one, two]), Buffer.from(after)]);
  test.each([
    ['fields after files', bodyOf([one, two, fieldPart('perceptual', 'none')])],
    ['fields before files', bodyOf([fieldPart('perceptual', 'none'), one, two])],
    ['fields between files', bodyOf([one, fieldPart('perceptual', 'none'), two])],
    ['array style', bodyOf([filePart('1', 'x', 'files[]'), filePart('2', 'y', 'files[]')])],
    ['a preamble and an epilogue', wrap('nobody reads this\r\n', 'nor this\r\n')],
    ['a line before the first boundary', wrap('\r\n', '')],
    ['no line end after the last boundary', bodyOf([one, two]).subarray(0, -2)],
    ['a field in which no file was chosen', bodyOf([one, filePart('', ''), two])],
    [
      'headers in small letters with more of them',
      bodyOf([
        {
          ...one,
          headers: `content-type: image/png\r\nX-More: 1\r\n${one.headers.split('\r\n')[0]}`,
        },
        two,
      ]),
    ],
  ])('with %s are accepted', async (_, body) => {
    expect(await names(body)).toEqual(['1', '2']);
  });

  test('with a quoted boundary are accepted', async () => {
    const type = 'Multipart/Form-Data; charset=utf-8; boundary="a-boundary"';
    expect(await names(bodyOf([one]), type)).toEqual(['1']);
  });

  test('that arrive byte by byte are accepted', async () => {
    const body = bodyOf([fieldPart('perceptual', 'none'), one, two]);
    const client = new RawClient(server);
    client.socket.setNoDelay();
    await client.write(headOf(HASH, { 'Content-Length': `${body.length}`, Connection: 'close' }));
    for (const byte of body) await client.write(Buffer.of(byte));
    expect(await client.whole()).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a form is refused', () => {
  const one = filePart('1', 'x');
  const whole = bodyOf([one]);
  test.each<[string, Buffer, string | null, number, string | null]>([
    ['without files', bodyOf([fieldPart('perceptual', 'none')]), null, 400, 'files'],
    ['with an empty body', Buffer.alloc(0), null, 400, 'files'],
    ['with no parts', Buffer.from('--a-boundary--\r\n'), null, 400, 'files'],
    ['with no file chosen', bodyOf([filePart('', '')]), null, 400, 'files'],
    ['with a text for a file', bodyOf([fieldPart('files', 'x')]), null, 400, 'files'],
    [
      'with a file for a text',
      bodyOf([one, filePart('a', 'b', 'perceptual')]),
      null,
      400,
      'perceptual',
    ],
    ['with an unknown field', bodyOf([one, fieldPart('perception', 'x')]), null, 400, 'perception'],
    ['with an unknown file', bodyOf([one, filePart('a', 'b', 'image')]), null, 400, 'image'],
    [
      'with a field twice',
      bodyOf([one, fieldPart('perceptual', 'none'), fieldPart('perceptual', 'none')]),
      null,
      400,
      'perceptual',
    ],
    [
      'with a value out of range',
      bodyOf([one, fieldPart('perceptual', 'loud')]),
      null,
      400,
      'perceptual',
    ],
    [
      'with a value of megabytes',
      bodyOf([one, fieldPart('perceptual', 'x'.repeat(2e6))]),
      null,
      400,
      'perceptual',
    ],
    [
      'with a name of kilobytes',
      bodyOf([one, fieldPart('x'.repeat(9000), 'x')]),
      null,
      400,
      `${'x'.repeat(57)}...`,
    ],
    ['with a name that Object has', bodyOf([one, fieldPart('__proto__', 'x')]), null, 400, null],
    [
      'with a nameless part',
      bodyOf([one, { headers: 'Content-Disposition: form-data', body: 'x' }]),
      null,
      400,
      null,
    ],
    ['cut in a file', whole.subarray(0, -20), null, 400, null],
    ['cut in headers', whole.subarray(0, 40), null, 400, null],
    [
      'cut in a field',
      bodyOf([one, fieldPart('perceptual', 'none')]).subarray(0, -22),
      null,
      400,
      null,
    ],
    ['with bare line feeds', Buffer.from(whole.toString().replaceAll('\r', '')), null, 400, null],
    ['that is JSON within', Buffer.from('{"files": []}'), null, 400, null],
    ['with another boundary', whole, 'multipart/form-data; boundary=other', 400, null],
    ['without a boundary', whole, 'multipart/form-data', 400, null],
    ['with an empty boundary', whole, 'multipart/form-data; boundary=', 400, null],
    [
      'with an endless boundary',
      whole,
      `multipart/form-data; boundary=${'b'.repeat(5000)}`,
      400,
      null,
    ],
    ['that is JSON', Buffer.from('{"files": []}'), 'application/json', 415, null],
    ['that is a text', Buffer.from('files=1'), 'text/plain', 415, null],
    ['that is urlencoded', Buffer.from('files=1'), 'application/x-www-form-urlencoded', 415, null],
    ['that is mixed', whole, 'multipart/mixed; boundary=a-boundary', 415, null],
    ['of no type', whole, '', 415, null],
    ['of a broken type', whole, 'multipart', 415, null],
    [
      'with a hundred parts',
      bodyOf(Array.from({ length: 100 }, () => filePart('', ''))),
      null,
      400,
      null,
    ],
  ])('%s', async (_, body, type, status, param) => {
    const sent = await send(server, HASH, body, type === null ? {} : { type });
    expect([sent.status, sent.json.error?.param]).toEqual([status, param]);
    expect(sent.json.error?.type).toBe('invalid_request');
    expect(server.files()).toEqual([]);
  });

  test('and its connection serves the next request', async () => {
    const client = new RawClient(server);
    const bad = bodyOf([one, fieldPart('perceptual', 'loud')]);
    const length = (body: Buffer) => ({ 'Content-Length': `${body.length}` });
    await client.write(headOf(HASH, length(bad)));
    await client.write(bad);
    await client.receive(/HTTP\/1\.1 400 [\s\S]*\}\}\n$/);
    await client.write(headOf(HASH, { ...length(whole), Connection: 'close' }));
    await client.write(whole);
    expect(await client.whole()).toMatch(/HTTP\/1\.1 400 [\s\S]*HTTP\/1\.1 200 /);
  });

  test('without any body or type', async () => {
    const sent = await send(server, HASH, Buffer.alloc(0), { type: null });
    expect(sent.status).toBe(415);
  });
});

test('no form caused a logged error', () => {
  expect(server.log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
});
