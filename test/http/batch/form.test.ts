import { describe, expect, test } from 'vitest';
import { quadrants } from '../../fixtures/images.ts';
import { RawClient } from '../raw-client.ts';
import { sharedServer } from '../test-server.ts';
import { bodyOf, fieldPart, filePart, formOf, headOf, type PartSource, send } from './form.ts';

const server = sharedServer();

const HASH = 'batch-image-hash';
const names = async (body: Buffer, type?: string) => {
  const { status, json } = await send(server(), HASH, body, type === undefined ? {} : { type });
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
    const { status, json } = await send(server(), HASH, bodyOf([filePart('a'.repeat(1025), 'x')]));
    expect([status, json.error?.param]).toEqual([400, 'files']);
  });
});

describe('forms', () => {
  test('made by undici are accepted', async () => {
    const image = await quadrants({ width: 8, height: 8 }).png().toBuffer();
    const { status, json } = await send(
      server(),
      HASH,
      formOf({ 'é"ü.png': image, 'b.png': image }),
    );
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
    const { status, json } = await send(server(), HASH, bodyOf(parts));
    expect([status, json]).toMatchObject([200, { summary: { total: 1, succeeded: 1 } }]);
    const none = await send(
      server(),
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
    const client = new RawClient(server());
    client.socket.setNoDelay();
    await client.write(headOf(HASH, { 'Content-Length': `${body.length}`, Connection: 'close' }));
    for (const byte of body) await client.write(Buffer.of(byte));
    expect(await client.whole()).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe('a form is refused', () => {
  const one = filePart('1', 'x');
  const whole = bodyOf([one]);
  const json = Buffer.from('{"files": []}');
  const [perceptual, loud] = ['none', 'loud'].map((value) => fieldPart('perceptual', value));

  test.each<[string, Buffer | readonly PartSource[], string?]>([
    ['without files', [perceptual!], 'files'],
    ['with an empty body', Buffer.alloc(0), 'files'],
    ['with no parts', Buffer.from('--a-boundary--\r\n'), 'files'],
    ['with no file chosen', [filePart('', '')], 'files'],
    ['with a text for a file', [fieldPart('files', 'x')], 'files'],
    ['with a file for a text', [one, filePart('a', 'b', 'perceptual')], 'perceptual'],
    ['with an unknown field', [one, fieldPart('perception', 'x')], 'perception'],
    ['with an unknown file', [one, filePart('a', 'b', 'image')], 'image'],
    ['with a field twice', [one, perceptual!, perceptual!], 'perceptual'],
    ['with a value out of range', [one, loud!], 'perceptual'],
    ['with megabytes of a value', [one, fieldPart('perceptual', 'x'.repeat(2e6))], 'perceptual'],
    ['with kilobytes of a name', [one, fieldPart('x'.repeat(9000), 'x')], `${'x'.repeat(57)}...`],
    ['with a name that Object has', [one, fieldPart('__proto__', 'x')]],
    ['with a nameless part', [one, { headers: 'Content-Disposition: form-data', body: 'x' }]],
    ['cut in a file', whole.subarray(0, -20)],
    ['cut in headers', whole.subarray(0, 40)],
    ['cut in a field', bodyOf([one, perceptual!]).subarray(0, -22)],
    ['with bare line feeds', Buffer.from(whole.toString().replaceAll('\r', ''))],
    ['that is JSON within', json],
    ['with a hundred parts', Array.from({ length: 100 }, () => filePart('', ''))],
  ])('%s', async (_, body, param) => {
    const sent = await send(server(), HASH, Buffer.isBuffer(body) ? body : bodyOf(body));
    expect([sent.status, sent.json.error]).toMatchObject([
      400,
      { type: 'invalid_request', param: param ?? null },
    ]);
    expect(server().files()).toEqual([]);
  });

  test.each<[type: string, status: number, body?: Buffer]>([
    ['multipart/form-data; boundary=other', 400],
    ['multipart/form-data', 400],
    ['multipart/form-data; boundary=', 400],
    [`multipart/form-data; boundary=${'b'.repeat(5000)}`, 400],
    ['application/json', 415, json],
    ['text/plain', 415, Buffer.from('files=1')],
    ['application/x-www-form-urlencoded', 415, Buffer.from('files=1')],
    ['multipart/mixed; boundary=a-boundary', 415],
    ['', 415],
    ['multipart', 415],
  ])('of type %s', async (type, status, body = whole) => {
    const sent = await send(server(), HASH, body, { type });
    expect([sent.status, sent.json.error]).toMatchObject([
      status,
      { type: 'invalid_request', param: null },
    ]);
    expect(server().files()).toEqual([]);
  });

  test('and its connection serves the next request', async () => {
    const client = new RawClient(server());
    const bad = bodyOf([one, loud!]);
    const length = (body: Buffer) => ({ 'Content-Length': `${body.length}` });
    await client.write(headOf(HASH, length(bad)));
    await client.write(bad);
    await client.receive(/HTTP\/1\.1 400 [\s\S]*\}\}\n$/);
    await client.write(headOf(HASH, { ...length(whole), Connection: 'close' }));
    await client.write(whole);
    expect(await client.whole()).toMatch(/HTTP\/1\.1 400 [\s\S]*HTTP\/1\.1 200 /);
  });

  test('without any body or type', async () => {
    const sent = await send(server(), HASH, Buffer.alloc(0), { type: null });
    expect(sent.status).toBe(415);
  });
});

test('no form caused a logged error', () => {
  expect(server().log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
});
