import type { ServerResponse } from 'node:http';
import { gate } from '../../gate.ts';
import { type Asked, json, type MockDaemon, mockDaemon } from './mock-daemon.ts';

/** Answers one request; the server answers what a test leaves out. */
export type Answering = (asked: Asked, response: ServerResponse) => void | Promise<void>;

export const CATALOG = {
  object: 'list',
  data: [
    { id: 'pictures', type: 'image', pricing: { per_image: 0.04 } },
    {
      id: 'first-text',
      aliases: ['first'],
      type: 'text',
      pricing: { input_per_million_tokens: 1, output_per_million_tokens: 4 },
      capability_metadata: { reasoning: { supported_efforts: ['low', 'high'] } },
    },
  ],
};

/** One event of a stream. */
export function event(data: unknown): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

export function chunk(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return event({ id: 'chatcmpl-1', object: 'chat.completion.chunk', model: 'm', choices });
}

/** Answers by a stream of these events. */
export function events(response: ServerResponse, ...all: string[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end(all.join(''));
}

/** A whole stream that says these texts. */
export function stream(response: ServerResponse, ...texts: string[]): void {
  const chunks = texts.map((content) => chunk({ content }));
  const first = chunk({ role: 'assistant', content: '' });
  events(response, ': keep-alive\n\n', first, ...chunks, chunk({}, 'stop'), event('[DONE]'));
}

/** A daemon with a catalog of models, whose other answers are a test's own. */
export function chatServer(answer: Answering): Promise<MockDaemon> {
  return mockDaemon((asked, response) => {
    const isList = /^\/v1\/models(?!\/)/.test(asked.path);
    return isList ? json(response, CATALOG) : answer(asked, response);
  });
}

/** A server that begins an answer and does not end it. @returns with `left`, which resolves when the client disconnects */
export async function endlessChatServer(): Promise<MockDaemon & { readonly left: Promise<void> }> {
  const { passed: left, open: leave } = gate();
  const server = await chatServer((_, response) => {
    response.once('close', leave);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ content: 'Once' }));
  });
  return { ...server, left };
}
