import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kindOf, stemOf } from '../../../src/cli/client/results.ts';
import { previewOf } from '../../../src/cli/terminal/encode-image.ts';
import { gate } from '../../gate.ts';
import { type Run, start, temporaryFolder, words } from '../../oriel.ts';
import { type CallOptions, residentCommand } from '../../resident.ts';
import { photograph } from '../photographs.ts';
import { mediaServer, pictures, record } from './media-server.ts';
import { json, type MockDaemon } from './mock-daemon.ts';

const resident = residentCommand();

const PNG = await photograph('png');
const JPEG = await photograph('jpeg');
const ASSETS = {
  'a.png': { bytes: PNG, type: 'image/png' },
  'b.png': { bytes: JPEG, type: 'image/png' },
  'c.wav': { bytes: Buffer.from('RIFF....WAVEfmt '), type: 'application/octet-stream' },
  d: { bytes: Buffer.from('....ftypisom'), type: 'video/mp4; codecs=x' },
};

async function run(server: MockDaemon, args: string[], options: CallOptions = {}): Promise<Run> {
  const env = { ORIEL_URL: server.url, ORIEL_API_KEY: 'secret', ...options.env };
  return resident(args, { ...options, env });
}

const LIGHTHOUSE = 'a lighthouse at dusk';

describe('oriel generate', () => {
  it('submits a task, waits, saves the result named by the prompt, and prints the path', async () => {
    const cwd = temporaryFolder();
    const looks = [record({ status: 'pending' }), pictures('/assets/a.png')];
    const server = await mediaServer({ assets: ASSETS, looks });
    const first = await run(server, ['generate', LIGHTHOUSE], { cwd });
    expect(first).toMatchObject({ status: 0, out: 'a-lighthouse-at-dusk.png\n', stderr: '' });
    expect(readFileSync(join(cwd, 'a-lighthouse-at-dusk.png'))).toEqual(PNG);
    const [submitted] = server.of('/v1/images/generations');
    expect(submitted?.body).toEqual({ model: 'paint', prompt: LIGHTHOUSE });
    expect(submitted?.headers['authorization']).toBe('Bearer secret');
    expect(server.of('/v1/tasks/task_1')).toHaveLength(2);

    // Again: nothing is overwritten; standard input is the prompt.
    const again = await run(server, ['generate', '-'], { cwd, input: `${LIGHTHOUSE}\n` });
    expect(again.out).toBe('a-lighthouse-at-dusk-2.png\n');
    expect(readdirSync(cwd)).toHaveLength(2);
  });

  it('sends the parameters of its flags, and uploads input files', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'in.png'), PNG);
    const server = await mediaServer({
      assets: ASSETS,
      looks: [pictures('/assets/a.png', '/assets/b.png')],
    });
    const flags = [
      ...['--model', 'paint-more', '--size', '16:9', '--quality', 'high', '--n', '2'],
      ...['--seed', '7', '--input', 'in.png', '--input', 'https://example.com/x.png'],
      ...['--callback-url', 'https://example.com/hook', '--idempotency-key', 'once'],
      ...['--out', 'new/made.png', '--json'],
    ];
    const { status, out, stderr } = await run(server, words`generate x ${flags}`, { cwd });
    expect({ status, stderr }).toEqual({
      status: 0,
      stderr: 'oriel: new/made-2.png holds jpg, whatever its name says\n',
    });
    expect(JSON.parse(out)).toEqual({
      ...pictures('/assets/a.png', '/assets/b.png'),
      saved: ['new/made.png', 'new/made-2.png'],
    });
    expect(readFileSync(join(cwd, 'new/made-2.png'))).toEqual(JPEG);
    expect(server.of('/v1/images/upload')[0]?.body).toEqual({
      file: { name: 'in.png', size: PNG.length, type: 'image/png' },
    });
    const [submitted] = server.of('/v1/images/generations');
    expect(submitted?.headers['idempotency-key']).toBe('once');
    expect(submitted?.body).toEqual({
      model: 'paint-more',
      prompt: 'x',
      size: '16:9',
      quality: 'high',
      n: 2,
      seed: 7,
      input_images: [`${server.url}/assets/upload-1.png`, 'https://example.com/x.png'],
      callback_url: 'https://example.com/hook',
    });
  });

  it('uses the endpoint of the model type, and the extension of the content', async () => {
    const cwd = temporaryFolder();
    const url = '/assets/c.wav';
    const looks = [
      record({ type: 'audio', result: { audio_url: url, urls: [url] } }),
      record({ type: 'video', result: { status: 'completed', video_url: '/assets/d', urls: [] } }),
    ];
    const server = await mediaServer({ assets: ASSETS, looks });
    const audio = words`generate Hello! --model speak --voice calm --format wav`;
    expect((await run(server, audio, { cwd })).out).toBe('hello.wav\n');
    const video = words`generate waves --model film --duration 4 --out films/`;
    expect((await run(server, video, { cwd })).out).toBe('films/waves.mp4\n');
    expect(server.of('/v1/audio/generations')[0]?.body).toEqual({
      ...{ model: 'speak', prompt: 'Hello!', voice: 'calm', format: 'wav' },
    });
    expect(server.of('/v1/videos/generations')[0]?.body).toEqual({
      ...{ model: 'film', prompt: 'waves', duration: 4 },
    });
    const text = await run(server, words`generate x --model talk`, { cwd });
    expect(text).toMatchObject({ status: 1, out: '' });
    expect(text.stderr).toContain('`oriel chat` talks to it');
  });

  it('writes one result to standard output, or prints the id and does not wait', async () => {
    const base64 = record({ result: { created: 1, data: [{ b64_json: PNG.toString('base64') }] } });
    const server = await mediaServer({ looks: [base64] });
    const piped = await run(server, words`generate x --out -`);
    expect(piped).toMatchObject({ status: 0, stderr: '' });
    expect(piped.stdout).toEqual(PNG);
    const left = await run(server, words`generate x --no-wait`);
    expect(left).toMatchObject({ status: 0, out: 'task_1\n', stderr: '' });
    expect(server.of('/v1/tasks/task_1')).toHaveLength(1);
  });

  it('sends the key to the daemon only', async () => {
    const elsewhere = await mediaServer({ assets: ASSETS });
    const looks = [pictures(`${elsewhere.url}/assets/a.png`)];
    const server = await mediaServer({ looks });
    expect((await run(server, ['generate', 'x', '--out', '-'])).stdout).toEqual(PNG);
    expect(elsewhere.asked).toMatchObject([{ path: '/assets/a.png' }]);
    expect(elsewhere.asked[0]?.headers).not.toHaveProperty('authorization');
  });

  it('waits while the daemon is unreachable', async () => {
    let looks = 0;
    const server = await mediaServer({
      assets: ASSETS,
      looks: [pictures('/assets/a.png')],
      answer({ path }, response) {
        if (path !== '/v1/tasks/task_1') return false;
        looks += 1;
        if (looks === 1) response.destroy();
        if (looks === 2) response.writeHead(503, { 'retry-after': '0' }).end('<html>');
        return looks < 3;
      },
    });
    expect((await run(server, ['generate', 'x', '--out', '-'])).stdout).toEqual(PNG);
    expect(looks).toBe(3);
  });

  it('aborts at ^C without a file, and prints how to continue', async () => {
    const cwd = temporaryFolder();
    const { passed: polling, open: polled } = gate();
    const server = await mediaServer({
      answer({ path }) {
        if (path !== '/v1/tasks/task_1') return false;
        polled();
        return true;
      },
    });
    const args = ['generate', 'x', '--url', server.url, '--out', 'my pictures'];
    const { child, ended } = start(args, { cwd });
    await polling;
    child.kill('SIGINT');
    expect(await ended).toMatchObject({
      status: 130,
      out: '',
      stderr:
        "oriel: interrupted; `oriel task task_1 --wait --out 'my pictures'` picks it up again\n",
    });
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe('oriel generate fails with a message and exit code 1', () => {
  it('without a key', async () => {
    const server = await mediaServer({
      answer: (_, response) => {
        json(response, { error: { type: 'auth_error', message: 'no key' } }, 401);
        return true;
      },
    });
    const keyless = await run(server, ['generate', 'x'], { env: { ORIEL_API_KEY: undefined } });
    expect(keyless).toMatchObject({ status: 1, out: '' });
    expect(keyless.stderr).toContain('`oriel keys create --account NAME` makes one');
  });

  it('where the daemon refuses for any reason', async () => {
    const refusals: [status: number, error: object, said: string][] = [
      [402, { message: '4 needed' }, 'not enough credits (4 needed); `oriel accounts grant'],
      [429, { message: 'slow down' }, 'too many requests (slow down); try again in 7 s'],
      [
        400,
        { type: 'content_policy', code: 'content_policy', message: 'unsafe', param: 'prompt' },
        'the prompt is not allowed (unsafe)',
      ],
      [404, { code: 'model_not_found', message: 'no such' }, 'no such; `oriel models` lists those'],
      [400, { type: 'invalid_request', message: 'size: bad\u001b[2J', param: 'size' }, 'size: bad'],
    ];
    const left = [...refusals];
    const server = await mediaServer({
      answer({ method }, response) {
        const [status, error] = left[0]!;
        if (method !== 'POST') return false;
        left.shift();
        response.setHeader('retry-after', '7');
        json(response, { error }, status);
        return true;
      },
    });
    for (const [, , said] of refusals) {
      const { status, out, stderr } = await run(server, ['generate', 'x']);
      expect({ status, out }).toEqual({ status: 1, out: '' });
      expect(stderr).toContain(said);
      expect(stderr).toMatch(/^oriel: [^\n\u001b]+\n$/);
    }
  });

  it('where the task fails, with its record for --json', async () => {
    const error = { type: 'service_error', message: 'it broke' };
    const failed = record({ status: 'failed', error });
    const server = await mediaServer({ looks: [failed] });
    const { status, out, stderr } = await run(server, words`generate x --json`);
    expect({ status, stderr }).toEqual({ status: 1, stderr: 'oriel: the task failed: it broke\n' });
    expect(JSON.parse(out)).toEqual({ ...failed, saved: [] });
  });

  it('before any request where a file would be replaced without --overwrite', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'a-2.png'), 'precious');
    const server = await mediaServer({
      assets: ASSETS,
      looks: [pictures('/assets/a.png', '/assets/a.png')],
    });
    const args = words`generate x --n 2 --out a.png`;
    const refused = await run(server, args, { cwd });
    expect(refused).toMatchObject({ status: 1, out: '' });
    expect(refused.stderr).toContain('a-2.png exists already');
    expect(server.of('/v1/images/generations')).toEqual([]);
    const done = await run(server, [...args, '--overwrite'], { cwd });
    expect(done).toMatchObject({ status: 0, out: 'a.png\na-2.png\n' });
  });

  it('where a result cannot be fetched, and prints how to continue', async () => {
    const server = await mediaServer({ looks: [pictures('/assets/gone.png')] });
    const { status, stderr } = await run(server, ['generate', 'x']);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /gone\.png answered with status 404; `oriel task task_1 --wait --out \.`/,
    );
  });
});

it('usage errors exit with 2', async () => {
  const lines: [args: string[], said: string][] = [
    [['generate', '  '], 'a prompt is required'],
    [words`generate x --n 11`, '--n: expected an integer from 1 to 10'],
    [words`generate x --no-wait --out a`, '--no-wait and --out cannot be combined'],
    [['edit', 'a.png'], '--prompt is required: a text'],
    [words`task x --callbacks --wait`, '--callbacks and --wait cannot be combined'],
    [words`tasks --status done`, '--status: expected one of pending, processing'],
  ];
  const runs = await Promise.all(lines.map(async ([args]) => resident(args)));
  for (const [index, { status, stderr }] of runs.entries()) {
    const [args, said] = lines[index]!;
    expect([args, status]).toEqual([args, 2]);
    expect(stderr).toContain(said);
  }
  const server = await mediaServer();
  const both = await run(server, words`generate x --out - --json`);
  expect(both).toMatchObject({ status: 2, out: '' });
});

describe('oriel edit', () => {
  it('sends a form, and saves the result of the response or of a task', async () => {
    const cwd = temporaryFolder();
    for (const name of ['a.png', 'b.png', 'm.png']) writeFileSync(join(cwd, name), PNG);
    const result = { created: 1, data: [{ url: '/assets/b.png' }], usage: {} };
    let edits = 0;
    const server = await mediaServer({
      assets: ASSETS,
      looks: [pictures('/assets/a.png')],
      answer({ path }, response) {
        if (path !== '/v1/images/edits') return false;
        edits += 1;
        if (edits === 1) json(response, result);
        if (edits === 3) json(response, { error: { message: 'busy' } }, 503);
        if (edits === 4) response.destroy();
        return edits !== 2;
      },
    });
    const args = ['edit', 'a.png', '--prompt', 'Make it snow', '--mask', 'm.png', '--json'];
    const { status, out } = await run(server, args, { cwd });
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual({ ...result, saved: ['make-it-snow.jpg'] });
    const file = (name: string) => ({ name, size: PNG.length, type: 'image/png' });
    expect(server.of('/v1/images/edits')[0]?.body).toEqual({
      ...{ model: 'paint', prompt: 'Make it snow', image: file('a.png'), mask: file('m.png') },
    });
    const several = ['edit', 'a.png', 'b.png', '-p', 'one room', '--size', '3:2', '--n', '1'];
    expect((await run(server, several, { cwd })).out).toBe('one-room.png\n');
    expect(server.of('/v1/images/edits')[1]?.body).toEqual({
      ...{ model: 'paint', prompt: 'one room', size: '3:2', n: '1' },
      'image[]': [file('a.png'), file('b.png')],
    });
    const refused = await run(server, several, { cwd });
    expect(refused).toMatchObject({ status: 1, out: '', stderr: 'oriel: busy\n' });
    const lost = await run(server, several, { cwd });
    expect(lost).toMatchObject({ status: 1, out: '' });
    expect(lost.stderr).toMatch(/went away.*; `oriel tasks` lists its task\n$/);
  });
});

describe('oriel upload', () => {
  it('prints a URL for each file, also where others fail', async () => {
    const cwd = temporaryFolder();
    for (const name of ['a.png', 'b.png']) writeFileSync(join(cwd, name), PNG);
    mkdirSync(join(cwd, 'folder'));
    const server = await mediaServer();
    const args = words`upload a.png none.png folder b.png`;
    const { status, out, stderr } = await run(server, args, { cwd });
    expect({ status, out, stderr }).toEqual({
      status: 1,
      out: `${server.url}/assets/upload-1.png\n${server.url}/assets/upload-2.png\n`,
      stderr:
        'oriel: none.png cannot be sent: there is no such file\noriel: folder cannot be sent: it is a folder\n',
    });
    const one = await run(server, words`upload a.png --json`, { cwd });
    const url = `${server.url}/assets/upload-3.png`;
    expect(JSON.parse(one.out)).toEqual({ uploads: [{ file: 'a.png', url }] });
  });
});

describe('oriel task', () => {
  it('prints a task, waits for it and saves its results', async () => {
    const cwd = temporaryFolder();
    const processing = record({ status: 'processing' });
    const looks = [processing, processing, processing, pictures('/assets/a.png')];
    const server = await mediaServer({ assets: ASSETS, looks });
    const shown = await run(server, ['task', 'task_1'], { cwd });
    expect(shown).toMatchObject({ status: 0, stderr: '' });
    expect(shown.out).toBe('task   task_1\nstate  processing\ntype   image\nmodel  paint\n');
    const early = await run(server, words`task task_1 --out .`, { cwd });
    expect(early).toMatchObject({ status: 1, out: '' });
    expect(early.stderr).toContain('the task is processing and has no result yet');
    const waited = await run(server, words`task task_1 --wait --out .`, { cwd });
    expect(waited).toMatchObject({ status: 0, out: 'task_1.png\n' });
    const done = await run(server, ['task', 'task_1'], { cwd });
    expect(done.out).toContain('result  /assets/a.png\n');
  });

  it('prints the error of a task, its callbacks, and that a task does not exist', async () => {
    const error = { type: 'timeout', message: 'too\u001b[2J late' };
    const deliveries = [
      {
        id: 'msg_1',
        status: 'delivered',
        url: 'https://example.com/hook',
        attempts: [
          { at: 1, status: null, error: 'refused' },
          { at: 2, status: 204, error: null },
        ],
      },
    ];
    const server = await mediaServer({
      looks: [record({ status: 'expired', error })],
      answer({ path }, response) {
        if (path !== '/v1/tasks/task_1/callbacks') return false;
        json(response, { data: deliveries });
        return true;
      },
    });
    const waited = await run(server, words`task task_1 --wait`);
    expect(waited.status).toBe(1);
    expect(waited.out).toContain('error  timeout: the task expired: too\\u001b[2J late\n');
    const callbacks = await run(server, words`task task_1 --callbacks`);
    expect(callbacks.out.split('\n')[1]).toBe(
      'msg_1  delivered  2      204   https://example.com/hook',
    );
    const none = await run(server, words`task a/../b --wait`);
    expect(none).toMatchObject({ status: 1, stderr: 'oriel: there is no such thing\n' });
    expect(server.asked.at(-1)?.path).toBe('/v1/tasks/a%2F..%2Fb');
  });
});

describe('oriel tasks', () => {
  it('lists tasks in a table and as JSON', async () => {
    const document = {
      data: [record({ type: 'video' }), record({ task_id: 'task_22', status: 'failed' })],
    };
    const server = await mediaServer({
      answer({ path }, response) {
        if (path.startsWith('/v1/tasks')) json(response, document);
        return path.startsWith('/v1/tasks');
      },
    });
    const table = await run(server, words`tasks --status failed --limit 3`);
    expect(table.out.split('\n')).toEqual([
      'ID       TYPE   STATE      MODEL',
      'task_1   video  completed  paint',
      'task_22  image  failed     paint',
      '',
    ]);
    expect(server.asked[0]?.path).toBe('/v1/tasks?status=failed&limit=3');
    expect(JSON.parse((await run(server, ['tasks', '--json'])).out)).toEqual(document);
    expect(server.asked[1]?.path).toBe('/v1/tasks');
  });
});

it.each([
  ['a lighthouse at dusk', 'a-lighthouse-at-dusk'],
  ['One, two, three, four, five, six, seven', 'one-two-three-four-five-six'],
  ['../../etc/passwd', 'etc-passwd'],
  ['Ein Café über Nacht', 'ein-café-über-nacht'],
  ['灯台の夕暮れ', '灯台の夕暮れ'],
  ['con', 'con_'],
  ['!!! \u001b[2J', '2j'],
  ['...', 'image'],
  ['x'.repeat(300), 'x'.repeat(48)],
])('a prompt %j gives the file name %s', (prompt, name) => {
  expect(stemOf(prompt, 'image')).toBe(name);
});

it.each([
  ['/assets/x.pcm?a=b.c', 'pcm'],
  ['https://example.com/x', 'bin'],
  ['https://example.com/x.exe', 'bin'],
])('raw samples at %s are stored as .%s', (address, extension) => {
  expect(kindOf(Buffer.alloc(64), address)).toEqual({ extension, isImage: false });
});

it('previews are small, opaque and oriented', async () => {
  const { default: sharp } = await import('sharp');
  for (const [width, height] of [
    [37, 23],
    [1600, 400],
  ] as const) {
    const turned = await sharp(await photograph('jpeg', { width: height, height: width }))
      .withMetadata({ orientation: 6 })
      .toBuffer();
    const side = Math.min(800, width);
    const size = { width: side, height: Math.round((height * side) / width) };
    const drawn = await previewOf(turned, 'rgba');
    expect(drawn).toMatchObject(size);
    const png = await previewOf(turned, 'png');
    expect(await sharp((png as { readonly png: Uint8Array }).png).metadata()).toMatchObject(size);
  }
  const red = { r: 255, g: 0, b: 0, alpha: 0.5 };
  const half = sharp({ create: { width: 2, height: 1, channels: 4, background: red } });
  const pixels = (await previewOf(await half.png().toBuffer(), 'rgba')) as {
    readonly rgba: Uint8Array;
  };
  expect([...pixels.rgba]).toEqual([255, 127, 127, 255, 255, 127, 127, 255]);
  expect(await previewOf(Buffer.from('no picture'), 'png')).toBeNull();
});
