import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { describe, expect, it, onTestFinished } from 'vitest';
import { OWNER_KEY } from '../../daemon.ts';
import { gate } from '../../gate.ts';
import { DONE } from '../../text/ask.ts';
import { sharedGateway } from '../../text/gateway-daemon.ts';
import { send } from '../../text/raw.ts';
import { SocketClient } from './socket-client.ts';

const gateway = sharedGateway();
const FORMATS = ['chat', 'responses', 'messages', 'gemini'] as const;

const TOOLS = [
  {
    type: 'function' as const,
    name: 'read',
    strict: false,
    parameters: { type: 'object', properties: { path: { type: 'string' } } },
  },
];

describe.each(FORMATS)('at an upstream of %s', (format) => {
  const model = `to-${format}`;
  const open = () => SocketClient.open(gateway().daemon.url);

  it("OpenAI's client does a task with only the new items", async () => {
    const { daemon, upstream } = gateway();
    upstream.play({ steps: [{ call: 'read', id: 'call_1', arguments: '{"path":"a"}' }] }, DONE);
    const client = new OpenAI({ apiKey: OWNER_KEY, baseURL: `${daemon.url}/v1` });
    const socket = new ResponsesWS(client);
    onTestFinished(() => socket.close());
    const events = socket.stream()[Symbol.asyncIterator]();
    const answer = async () => {
      for (;;) {
        const { value, done } = await events.next();
        if (done || value.type === 'error') throw new Error(JSON.stringify(value));
        if (value.type === 'message' && value.message.type === 'response.completed') {
          return value.message.response;
        }
      }
    };
    const request = { type: 'response.create', model, store: false, tools: TOOLS } as const;
    socket.send({ ...request, input: 'Read the file' });
    const { id, output } = await answer();
    const call = output.find(({ type }) => type === 'function_call') as { call_id: string };
    const result = { type: 'function_call_output', call_id: call.call_id, output: '42' } as const;
    socket.send({ ...request, previous_response_id: id, input: [result] });
    expect((await answer()).output.at(-1)).toMatchObject({ content: [{ text: 'Done.' }] });
    const { text } = upstream.requests[1]!;
    for (const part of ['Read the file', 'read', '42']) expect(text).toContain(part);
    expect(text).not.toContain('previous_response_id');
  });

  it('a warm-up costs nothing, and a request continues it', async () => {
    const { upstream } = gateway();
    upstream.play(DONE);
    const client = await open();
    client.create({ model, store: false, generate: false, input: 'Know this', tools: TOOLS });
    const { response } = await client.end();
    expect(response).toMatchObject({ status: 'completed', output: [], usage: { total_tokens: 0 } });
    expect(client.events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.completed',
    ]);
    expect(upstream.requests).toHaveLength(0);
    client.create({ model, store: false, previous_response_id: response.id, input: 'Go on' });
    expect(await client.end()).toMatchObject({ type: 'response.completed' });
    expect(upstream.only().text).toMatch(/Know this.*Go on/s);
  });

  it('named streams run beside each other, and each keeps its order', async () => {
    const { upstream } = gateway();
    const first = gate();
    upstream.play({ ...DONE, before: first.passed }, DONE);
    const client = await open();
    const ask = (stream_id: string, input: string) =>
      client.create({ model, store: false, stream_id, input });
    ask('a', 'one');
    await upstream.received(0);
    ask('a', 'three');
    ask('b', 'two');
    expect(await client.end()).toMatchObject({ type: 'response.completed', stream_id: 'b' });
    expect(upstream.requests.map(({ text }) => /one|two|three/.exec(text)![0])).toEqual([
      'one',
      'two',
    ]);
    first.open();
    for (const _ of ['one', 'three']) expect(await client.end()).toMatchObject({ stream_id: 'a' });
    expect(upstream.requests[2]!.text).toContain('three');
    expect(client.events.every((event) => event.stream_id !== undefined)).toBe(true);
  });

  it('a stored response goes on from another connection and over HTTP', async () => {
    const { daemon, upstream } = gateway();
    upstream.play(DONE);
    const [one, other] = [await open(), await open()];
    one.create({ model, store: true, input: 'Know this' });
    const { id } = (await one.end()).response;
    other.create({ model, store: false, previous_response_id: id, input: 'And?' });
    expect(await other.end()).toMatchObject({ type: 'response.completed' });
    const body = { model, store: false, previous_response_id: id, input: 'Then?' };
    expect((await send(daemon, 'responses', body)).status).toBe(200);
    expect(upstream.requests[1]!.text).toMatch(/Know this.*And\?/s);
    expect(upstream.requests[2]!.text).toMatch(/Know this.*Then\?/s);
  });

  it('a failure of the provider is an event, and the connection goes on', async () => {
    const { upstream } = gateway();
    upstream.play({ refuse: { status: 400, body: { error: { message: 'no' } } } }, DONE);
    const client = await open();
    client.create({ model, store: false, input: 'Hello', stream_id: 'a' });
    const event = await client.end();
    expect(event).toMatchObject({ type: 'error', status: 400, stream_id: 'a' });
    expect(event.headers['x-request-id']).toMatch(/^req_/);
    client.create({ model, store: false, input: 'Hello' });
    expect(await client.end()).toMatchObject({ type: 'response.completed' });
  });
});
