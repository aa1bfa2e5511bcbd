import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { gate } from '../../gate.ts';
import { oriel, type Run, shell, start, words } from '../../oriel.ts';
import { type CallOptions, residentCommand } from '../../resident.ts';
import {
  type Answering,
  CATALOG,
  chatServer,
  chunk,
  endlessChatServer,
  event,
  events,
  stream,
} from './chat-server.ts';
import { json, type MockDaemon } from './mock-daemon.ts';

const resident = residentCommand();

const says =
  (...texts: string[]): Answering =>
  (_, response) =>
    stream(response, ...texts);

const sending = (...all: string[]) => chatServer((_, response) => events(response, ...all));
const END = chunk({}, 'stop') + event('[DONE]');

function chat(
  server: MockDaemon,
  args: readonly string[],
  options: CallOptions = {},
): Promise<Run> {
  return resident(['chat', '--url', server.url, ...args], options);
}

describe('oriel chat', () => {
  it('prints the answer of the first text model with a line end', async () => {
    const server = await chatServer(says('Hello', ' there'));
    const run = await chat(server, ['Hi', '--key', 'secret']);
    expect(run).toMatchObject({ status: 0, out: 'Hello there\n', stderr: '' });
    const [models, asked] = server.asked;
    expect(models).toMatchObject({
      path: '/v1/models',
      headers: { authorization: 'Bearer secret' },
    });
    expect(asked).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer secret' },
    });
    expect(asked?.body).toEqual({
      model: 'first-text',
      messages: [{ role: 'user', content: 'Hi' }],
      stream: true,
    });
  });

  it('adds no second line end', async () => {
    const server = await chatServer(says('Hello\n'));
    expect((await chat(server, ['Hi'])).out).toBe('Hello\n');
  });

  it('sends the parameters of its flags', async () => {
    const server = await chatServer(says('ok'));
    const flags = ['--model', 'other', '--system', 'Be brief.', '--effort', 'high'];
    await chat(server, ['Hi', ...flags, '--max-tokens', '50', '--temperature', '0.5']);
    expect(server.asked.map(({ body }) => body)).toEqual([
      {
        model: 'other',
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Hi' },
        ],
        reasoning_effort: 'high',
        max_completion_tokens: 50,
        temperature: 0.5,
        stream: true,
      },
    ]);
  });

  it('reads URL, also with /v1, and key from the environment', async () => {
    const server = await chatServer(says('ok'));
    const env = { ORIEL_URL: `${server.url}/v1/`, ORIEL_API_KEY: 'from-environment' };
    expect(await oriel(['chat', 'Hi'], { env })).toMatchObject({ status: 0, out: 'ok\n' });
    expect(server.asked[1]).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer from-environment' },
    });
  });

  it.each<[what: string, args: string[], input: string, said: string]>([
    ['standard input alone', [], 'from a pipe\n', 'from a pipe\n'],
    ['standard input for -', ['-'], 'from a pipe', 'from a pipe'],
    ['the prompt and below it standard input', ['Look:'], 'a\nb\n', 'Look:\n\na\nb\n'],
    ['the prompt where standard input is empty', ['Look'], '', 'Look'],
  ])('sends %s', async (_, args, input, said) => {
    const server = await chatServer(says('ok'));
    await chat(server, args, { input });
    expect(server.asked[1]?.body).toMatchObject({ messages: [{ role: 'user', content: said }] });
  });

  it('prints the answer as JSON without control characters', async () => {
    const completion = {
      id: 'chatcmpl-1',
      choices: [{ message: { content: '\u001b[2Jé\u009b' } }],
    };
    const server = await chatServer((_, response) => json(response, completion));
    const run = await chat(server, ['Hi', '--json']);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(run.out)).toEqual(completion);
    expect(run.out).not.toMatch(/[\u001b\u009b]/);
    expect(server.asked[1]?.body).not.toHaveProperty('stream');
  });

  it('prints no reasoning where standard error is no terminal', async () => {
    const server = await sending(
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'yes' }),
      END,
    );
    expect(await chat(server, ['Hi'])).toMatchObject({ status: 0, out: 'yes\n', stderr: '' });
  });

  it('prints control characters where standard output is no terminal', async () => {
    const text = '\u001b[31mred\u001b[0m\r\n\u0007\u{1f600}';
    const server = await chatServer(says(text));
    expect((await chat(server, ['Hi'])).out).toBe(`${text}\n`);
  });

  it('reports an answer that reached its token limit', async () => {
    const cut = chunk({}, 'length') + event('[DONE]');
    const server = await sending(chunk({ content: 'Once' }), cut);
    expect(await chat(server, ['Hi'])).toMatchObject({
      status: 0,
      out: 'Once\n',
      stderr: 'oriel: the answer reached its limit of tokens and stops here\n',
    });
  });

  it('prints a refusal', async () => {
    const server = await sending(chunk({ refusal: 'No.' }), END);
    expect(await chat(server, ['Hi'])).toMatchObject({ status: 0, out: 'No.\n' });
  });

  it('reads a stream in chunks of any size', async () => {
    const server = await chatServer(async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const bytes = Buffer.from(chunk({ content: 'zé\u{1f600}' }) + event('[DONE]'));
      for (const byte of bytes) {
        response.write(Buffer.of(byte));
        await new Promise(setImmediate);
      }
      response.end();
    });
    expect(await chat(server, ['Hi'])).toMatchObject({ status: 0, out: 'zé\u{1f600}\n' });
  });
});

describe('oriel chat fails with a message and exit code 1', () => {
  it('where no daemon answers', async () => {
    const run = await oriel(words`chat Hi --url http://127.0.0.1:9`);
    expect(run).toMatchObject({ status: 1, out: '' });
    expect(run.stderr).toMatch(
      /^oriel: no daemon answers at http:\/\/127\.0\.0\.1:9: `oriel serve`/,
    );
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it.each([
    ['no key was given', [], 'the daemon asks for a key (missing key)'],
    ['the key is not known', ['--key', 'x'], 'the key is refused (missing key)'],
  ])('where %s', async (_, args, message) => {
    const error = { type: 'auth_error', message: 'missing key', param: null, code: null };
    const server = await chatServer((_, response) => json(response, { error }, 401));
    const run = await chat(server, ['Hi', ...args], { env: { ORIEL_API_KEY: undefined } });
    expect(run).toMatchObject({ status: 1, out: '' });
    expect(run.stderr).toBe(
      `oriel: ${message}; \`oriel keys create --account NAME\` makes one, for --key or ORIEL_API_KEY\n`,
    );
  });

  it('where the request is refused', async () => {
    const error = { type: 'invalid_request', message: 'there is no model "x"', param: 'model' };
    const server = await chatServer((_, response) => json(response, { error }, 404));
    expect(await chat(server, ['Hi', '--model', 'x'])).toMatchObject({
      status: 1,
      out: '',
      stderr: 'oriel: there is no model "x"\n',
    });
  });

  it('where another server answers', async () => {
    const server = await chatServer((_, response) => {
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
    });
    const run = await chat(server, ['Hi']);
    expect(run).toMatchObject({ status: 1, out: '' });
    expect(run.stderr).toContain('answered with status 502');
  });

  it.each<[what: string, end: (response: Parameters<Answering>[1]) => void, message: string]>([
    [
      'says so',
      (response) => response.end(event({ error: { type: 'service_error', message: 'it broke' } })),
      'it broke',
    ],
    ['ends without an end', (response) => response.end(), 'the answer was cut off before its end'],
    ['sends what is no JSON', (response) => response.end('data: {x\n\n'), 'no JSON'],
    ['loses its connection', (response) => response.destroy(), 'went away'],
  ])('where the answer %s, after the received part', async (_, end, message) => {
    const server = await chatServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chunk({ content: 'Once upon' }), () => end(response));
    });
    const run = await chat(server, ['Hi']);
    expect(run).toMatchObject({ status: 1, out: 'Once upon\n' });
    expect(run.stderr).toMatch(/^oriel: [^\n]+\n$/);
    expect(run.stderr).toContain(message);
  });

  it('without control characters of the message', async () => {
    const error = { message: 'bad\u001b[2J' };
    const server = await chatServer((_, response) => json(response, { error }, 400));
    expect((await chat(server, ['Hi'])).stderr).not.toContain('\u001b');
  });
});

describe('oriel chat ends with exit code 2', () => {
  it.each([
    [['--effort', 'huge', 'Hi'], '--effort: expected one of none, minimal'],
    [['--max-tokens', '0', 'Hi'], '--max-tokens: expected an integer from 1 to 1048576'],
    [['--temperature', '3', 'Hi'], '--temperature: expected a number from 0 to 2'],
    [['--url', 'ftp://x', 'Hi'], '--url: expected an http or https URL, received "ftp://x"'],
    [['--key', 'a b', 'Hi'], '--key: expected a key'],
    [['Hi', 'there'], 'too many arguments'],
    [[], 'a prompt is required'],
    [['  '], 'a prompt is required'],
  ])('for %j', async (args, message) => {
    const run = await resident(['chat', ...args]);
    expect(run).toMatchObject({ status: 2, out: '' });
    expect(run.stderr).toContain(message);
  });

  it('for standard input that is not UTF-8', async () => {
    const run = await oriel(['chat', '-'], { input: Buffer.of(0xff, 0xfe) });
    expect(run).toMatchObject({ status: 2, out: '' });
    expect(run.stderr).toContain('UTF-8');
  });
});

describe('oriel chat aborts the request', () => {
  it('at ^C after the received part, and exits with 130', async () => {
    const { url, left } = await endlessChatServer();
    const { child, ended } = start(words`chat --url ${url} Hi`);
    await once(child.stdout!, 'data');
    child.kill('SIGINT');
    await left;
    expect(await ended).toMatchObject({ status: 130, out: 'Once\n', stderr: '' });
  });

  it('where the reader closes standard output, without a message', async () => {
    const { passed: left, open: gone } = gate();
    const server = await chatServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const more = () => {
        while (!response.destroyed && response.write(chunk({ content: 'again\n'.repeat(500) })));
      };
      response.on('drain', more).once('close', gone);
      more();
    });
    const run = await shell(`oriel chat --url ${server.url} Hi | head -n 3`);
    await left;
    expect(run).toMatchObject({ status: 0, out: 'again\nagain\nagain\n', stderr: '' });
  });
});

describe('oriel models', () => {
  it('prints a table', async () => {
    const server = await chatServer(says());
    const run = await resident(['models', '--url', server.url]);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.out.split('\n')).toEqual([
      'MODEL       ALIASES  TYPE   EFFORTS   PRICE',
      'pictures    -        image  -         0.04 per image',
      'first-text  first    text   low,high  1 input per million tokens, 4 output per million tokens',
      '',
    ]);
  });

  it('prints JSON', async () => {
    const server = await chatServer(says());
    const run = await oriel(['models', '--json', '--url', server.url]);
    expect(JSON.parse(run.out)).toEqual(CATALOG);
  });
});
