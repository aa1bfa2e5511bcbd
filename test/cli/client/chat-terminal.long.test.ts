import { describe, expect, it } from 'vitest';
import { HAS_TERMINAL, typed } from '../in-terminal.ts';
import { chatServer, chunk, endlessChatServer, event, events, stream } from './chat-server.ts';
import { json } from './mock-daemon.ts';

describe.runIf(HAS_TERMINAL)('oriel chat on a terminal (needs script of util-linux)', () => {
  it('removes control characters, and dims reasoning', async () => {
    const reasoning = chunk({ reasoning_content: 'h\u001b[2Jm' });
    const said = chunk({ content: 'a\u001b]0;b\u0007\u009b2J\r\u007f\tc\n' });
    const server = await chatServer((_, response) => {
      events(response, reasoning, said, chunk({}, 'stop'), event('[DONE]'));
    });
    const line = `oriel chat --url ${server.url} Hi </dev/null`;
    const colours = { NO_COLOR: undefined, CI: undefined };
    const dimmed = await typed(line, [], { env: colours });
    expect(dimmed).toMatchObject({ status: 0 });
    expect(dimmed.out).toBe('\u001b[2mh[2Jm\u001b[22m\r\n\r\na]0;b2J\tc\r\n');
    const plain = await typed(line, [], { env: { CI: undefined } });
    expect(plain.out).toBe('h[2Jm\r\n\r\na]0;b2J\tc\r\n');
  });

  it('sends all messages of the conversation', async () => {
    const answers = ['one', 'two'];
    const server = await chatServer((_, response) => stream(response, answers.shift() ?? 'three'));
    const line = `oriel chat --url ${server.url} --system Brief.`;
    const run = await typed(line, [
      ['> ', 'first\r'],
      ['one', 'second\r'],
      ['two', '/exit\r'],
    ]);
    expect(run.status).toBe(0);
    expect(run.out).toContain('first-text at http://127.0.0.1');
    expect(server.asked.at(-1)?.body).toMatchObject({
      messages: [
        { role: 'system', content: 'Brief.' },
        { role: 'user', content: 'first' },
        { role: 'assistant', content: 'one' },
        { role: 'user', content: 'second' },
      ],
    });
  });

  it('knows /help and /model, and sends neither', async () => {
    const server = await chatServer(({ path }, response) => {
      if (path === '/v1/models/a%2Fother') return json(response, { id: 'a/other' });
      if (!path.startsWith('/v1/models/')) return stream(response, 'fine');
      return json(response, { error: { message: 'there is no model "misspelt"' } }, 404);
    });
    const run = await typed(`oriel chat --model own --url ${server.url}`, [
      ['> ', '/help\r'],
      ['/model NAME', '/model\r'],
      ['the model is own\r\noriel: others are first-text', '/model misspelt\r'],
      ['there is no model "misspelt"', '/model a/other\r'],
      ['the model is a/other', '/\r'],
      ['unknown command /; see /help', 'first\r'],
      ['fine', '/exit\r'],
    ]);
    expect(run.status).toBe(0);
    expect(server.asked.at(-1)?.body).toMatchObject({
      model: 'a/other',
      messages: [{ role: 'user', content: 'first' }],
    });
  });

  it('continues after a failed request without its message', async () => {
    let first = true;
    const server = await chatServer((_, response) => {
      if (!first) return stream(response, 'fine');
      first = false;
      response.writeHead(503).end(JSON.stringify({ error: { message: 'too busy' } }));
    });
    const run = await typed(`oriel chat --url ${server.url}`, [
      ['> ', 'lost\r'],
      ['too busy', 'kept\r'],
      ['fine', '\u0004'],
    ]);
    expect(run.status).toBe(0);
    expect(server.asked.at(-1)?.body).toMatchObject({
      messages: [{ role: 'user', content: 'kept' }],
    });
  });

  it('ends at ^C and aborts the answer', async () => {
    const { url, left } = await endlessChatServer();
    const run = await typed(`oriel chat --url ${url}`, [
      ['> ', 'Hi\r'],
      ['Once', '\u0003'],
    ]);
    await left;
    expect(run.status).toBe(130);
  });

  it('ends at ^C at the prompt', async () => {
    const server = await chatServer((_, response) => stream(response));
    const run = await typed(`oriel chat --url ${server.url}`, [['> ', '\u0003']]);
    expect(run.status).toBe(130);
  });

  it('exits with 2 with --json', async () => {
    const server = await chatServer((_, response) => stream(response));
    const run = await typed(`oriel chat --json --url ${server.url}`, []);
    expect(run).toMatchObject({ status: 2, out: 'oriel: --json: only with a prompt\r\n' });
  });
});
