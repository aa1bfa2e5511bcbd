import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { drained } from '../text/mock-upstream.ts';
import { type Script, USAGE } from '../text/script.ts';
import {
  type Dialect,
  fuzzedAnswer,
  steadyAnswer,
  steadyFrames,
  type UpstreamBytes,
} from './fuzz/upstream-bytes.ts';

const PATHS: Readonly<Record<string, Dialect>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
};

const STEADY: Script = { steps: [{ text: 'Hello from the upstream' }], usage: USAGE };

/** Fields that a gateway must not pass on for a tenant, because they use the operator's account and money. */
const OPERATOR_ONLY = ['background', 'conversation', 'service_tier', 'mcp_servers', 'api_base'];

/** Megabytes of small objects in one response. */
const HOSTILE_MEGABYTES = 24;

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const dialect = PATHS[request.url?.split('?', 1)[0] ?? ''];
  if (dialect === undefined) {
    response.writeHead(404).end();
    return;
  }
  let body: Record<string, unknown> = {};
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    // The response to an invalid body does not depend on it.
  }
  // The prompt names the behaviour, wherever the format has it.
  const [, name = 'steady', argument = ''] = /torture:([a-z-]+)(?:=([\w.:-]+))?/.exec(text) ?? [];
  if (name === 'report') {
    const passed = OPERATOR_ONLY.filter((field) => field in body);
    const script = { ...STEADY, steps: [{ text: `passed:${passed.join()}` }] };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(steadyAnswer(dialect, body, script));
    return;
  }
  await behave(name, argument, dialect, body, response);
}

async function behave(
  name: string,
  argument: string,
  dialect: Dialect,
  body: Record<string, unknown>,
  response: ServerResponse,
): Promise<void> {
  const stream = body['stream'] === true;
  const head = { 'content-type': stream ? 'text/event-stream' : 'application/json' };
  switch (name) {
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'status':
      response.writeHead(Number(argument), { 'content-type': 'application/json' });
      response.end('{"error":{"message":"the upstream refuses","type":"server_error"}}');
      return;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works!</h1>');
      return;
    case 'hostile': {
      // Small objects take far more memory parsed than as bytes.
      response.writeHead(200, { 'content-type': 'application/json' });
      const piece = `${'{},'.repeat(350_000)}{},`;
      response.write('{"choices":[');
      for (let sent = 0; sent < HOSTILE_MEGABYTES && !response.destroyed; sent += 1) {
        if (!response.write(piece)) await drained(response);
      }
      response.end('{}]}');
      return;
    }
    case 'endless': {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const frames = steadyFrames(dialect, { ...body, stream: true }, STEADY);
      response.write(frames.slice(0, 2).join(''));
      while (!response.destroyed) {
        if (!response.write(': more\n\n'.repeat(100))) await drained(response);
        await delay(5);
      }
      return;
    }
    case 'overcharge': {
      const usage = { input: 10, output: 5_000_000 };
      response.writeHead(200, head).end(steadyAnswer(dialect, body, { ...STEADY, usage }));
      return;
    }
    case 'fuzz':
      await send(fuzzedAnswer(dialect, body, argument), response);
      return;
    case 'slow':
      await delay(500);
      if (stream) {
        response.writeHead(200, head);
        for (const frame of steadyFrames(dialect, body, STEADY)) {
          response.write(frame);
          await delay(200);
        }
        response.end();
        return;
      }
      break;
    case 'long': {
      const long = 'word '.repeat(20_000);
      const script = { ...STEADY, steps: [{ text: long, pieces: long.match(/.{1,200}/g) ?? [] }] };
      response.writeHead(200, head);
      for (const frame of steadyFrames(dialect, { ...body, stream: true }, script)) {
        if (response.destroyed) return;
        if (!response.write(frame)) await drained(response);
      }
      response.end();
      return;
    }
  }
  response.writeHead(200, head);
  response.end(
    stream ? steadyFrames(dialect, body, STEADY).join('') : steadyAnswer(dialect, body, STEADY),
  );
}

async function send({ type, pieces, end }: UpstreamBytes, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': type });
  for (const piece of pieces) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
  if (end === 'end') response.end();
  if (end === 'reset') setTimeout(() => response.socket?.resetAndDestroy(), 10);
}

const server = createServer((request, response) => {
  response.on('error', () => {});
  answer(request, response).catch(() => response.destroy());
});
// The gateway reads it in the answers and closes a connection a second earlier, so that none breaks as it is
// reused. A shorter time than its own lets descriptors return soon after the load.
server.keepAliveTimeout = 10_000;
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('ready'));
process.on('disconnect', () => process.exit());
