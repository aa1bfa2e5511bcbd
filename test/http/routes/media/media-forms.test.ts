import { describe, expect, it, test } from 'vitest';
import { bodyOf, FORM_TYPE, fieldPart, filePart, type PartSource } from '../../batch/form.ts';
import { mediaServer } from '../media-server.ts';

const server = mediaServer();
const EDITS = '/v1/images/edits';
const UPLOAD = '/v1/images/upload';
const TOO_LARGE = Buffer.alloc(30 * 1024 * 1024 + 1);

const send = (path: string, parts: readonly PartSource[], headers: object = {}) =>
  server().ask(path, {
    method: 'POST',
    headers: { 'content-type': FORM_TYPE, ...headers },
    body: new Uint8Array(bodyOf(parts)),
  });

const basics = [fieldPart('model', 'native'), fieldPart('prompt', 'paint it red')];
const image = (body: string | Uint8Array = 'one', name = 'image') => filePart('a.png', body, name);
const mask = filePart('m.png', 'mask', 'mask');

describe('an edit', () => {
  it('passes on files, and fields in the types that JSON has', async () => {
    const file = await server().file('png', 'image/png', 'x');
    server().media.end = (task) => server().complete(task, [file]);
    const fields = { size: '16:9', n: '2', quality: 'low', seed: '7', user: '5' };
    const parts = Object.entries(fields).map(([name, text]) => fieldPart(name, text));
    const { status, json } = await send(
      EDITS,
      [
        image('one'),
        ...basics,
        image('two', 'image[]'),
        mask,
        ...parts,
        fieldPart('response_format', 'b64_json'),
      ],
      { 'idempotency-key': 'k-1' },
    );
    expect([status, json!['data']]).toEqual([
      200,
      [{ b64_json: 'eA==', revised_prompt: 'a "lighthouse"' }],
    ]);
    const { call, request, images, mask: sentMask } = server().media.asked.at(-1)!;
    expect(call).toMatchObject({ kind: 'edit', idempotencyKey: 'k-1', publicUrl: server().url });
    expect(call.fields).toEqual({
      model: 'native',
      prompt: 'paint it red',
      size: '16:9',
      n: 2,
      quality: 'low',
      seed: 7,
      user: '5',
    });
    expect(request.request).toMatchObject({ edit: true, size: '1536x1024', n: 2, seed: 7 });
    expect([images, sentMask]).toEqual([['one', 'two'], 'mask']);
    expect(server().files()).toEqual([]);
  });

  it('returns the task at once with Prefer: respond-async, and waits without it', async () => {
    const file = await server().file('png', 'image/png', 'x');
    server().media.end = (task) => server().complete(task, [file]);
    const statusWith = async (headers: object) =>
      (await send(EDITS, [...basics, image()], headers)).status;
    expect(await statusWith({ prefer: 'respond-async' })).toBe(202);
    expect(await statusWith({ prefer: 'wait=5' })).toBe(200);
  });

  it('accepts sixteen images, no mask, and the longest prompt', async () => {
    server().media.end = async (task) => task;
    const images = Array.from({ length: 16 }, (_, index) => image(String(index)));
    const longest = '🙂'.repeat(32_000);
    const { status } = await send(EDITS, [
      fieldPart('model', 'image'),
      fieldPart('prompt', longest),
      ...images,
      filePart('', '', 'mask'),
    ]);
    expect(status).toBe(202);
    const { call, images: sent, mask: none } = server().media.asked.at(-1)!;
    expect(call.fields['prompt']).toBe(longest);
    expect([sent.length, none]).toEqual([16, null]);
  });

  const [model, prompt] = basics;
  const edit = (...parts: readonly PartSource[]) => [...basics, ...parts];
  test.each<[string, readonly PartSource[], param: string, status?: number]>([
    ['without an image', basics, 'image'],
    ['with a field in which no image was chosen', edit(filePart('', '', 'image')), 'image'],
    ['with seventeen images', edit(...Array.from({ length: 17 }, () => image())), 'image'],
    ['with two masks', edit(image(), mask, mask), 'mask'],
    ['with a text for an image', edit(fieldPart('image', 'x')), 'image'],
    ['with a text for a mask', edit(image(), fieldPart('mask', 'x')), 'mask'],
    ['with a file for a text', [model!, image(), filePart('a', 'b', 'prompt')], 'prompt'],
    ['with an unknown file', edit(filePart('a', 'b', 'picture')), 'picture'],
    ['with an unknown field', edit(image(), fieldPart('input_images', 'x')), 'input_images'],
    ['without a model', [prompt!, image()], 'model'],
    ['without a prompt', [model!, image()], 'prompt'],
    ['with two prompts', edit(prompt!, image()), 'prompt'],
    ['with an endless prompt', [model!, fieldPart('prompt', 'x'.repeat(2e5)), image()], 'prompt'],
    ['with a count that is no number', edit(image(), fieldPart('n', 'two')), 'n'],
    ['with no format', edit(image(), fieldPart('response_format', 'x')), 'response_format'],
    ['with a second image that is too large', edit(image(), image(TOO_LARGE)), 'image[1]', 413],
  ])('%s is refused', async (_, parts, param, status = 400) => {
    const answer = await send(EDITS, parts);
    expect([answer.status, answer.json!['error']]).toMatchObject([
      status,
      { type: 'invalid_request', param },
    ]);
    expect(server().files()).toEqual([]);
  });

  test.each([
    ['text/plain', 415],
    ['multipart/form-data', 400],
  ])('with content type %s is refused', async (type, status) => {
    const answer = await send(EDITS, [...basics, image()], { 'content-type': type });
    expect([answer.status, answer.json!['error']]).toMatchObject([
      status,
      { type: 'invalid_request' },
    ]);
  });

  it('with an invalid idempotency key is refused before its files are read', async () => {
    const { status, json } = await send(EDITS, [...basics, image()], { 'idempotency-key': '' });
    expect([status, json!['error']]).toMatchObject([400, { param: 'Idempotency-Key' }]);
  });
});

describe('an upload', () => {
  it('returns the URL of the asset', async () => {
    const { status, json } = await send(UPLOAD, [filePart('a.png', 'the bytes', 'file')]);
    expect([status, json]).toEqual([200, { url: `${server().url}/assets/a-name.png` }]);
    expect(server().media.uploaded).toBe('the bytes');
    expect(server().files()).toEqual([]);
  });

  test.each<[string, readonly PartSource[], number, string]>([
    ['without a file', [], 400, 'file'],
    ['with two files', [filePart('a', 'a', 'file'), filePart('b', 'b', 'file')], 400, 'file'],
    ['with a field', [filePart('a', 'a', 'file'), fieldPart('purpose', 'x')], 400, 'purpose'],
    ['that is too large', [filePart('a', TOO_LARGE, 'file')], 413, 'file'],
  ])('%s is refused', async (_, parts, status, param) => {
    const answer = await send(UPLOAD, parts);
    expect([answer.status, answer.json!['error']]).toMatchObject([status, { param }]);
    expect(server().files()).toEqual([]);
  });

  it('beyond the limit is refused by Content-Length', async () => {
    const { status, json } = await send(UPLOAD, [
      filePart('a', Buffer.alloc(32 * 1024 * 1024), 'file'),
    ]);
    expect([status, json!['error']]).toMatchObject([413, { code: 'request_too_large' }]);
  });
});

test('no request caused a logged defect', () => {
  expect(server().log.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
});
