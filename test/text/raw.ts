import { OWNER_KEY, type TestDaemon } from '../daemon.ts';
import type { DialectName } from './mock-upstream.ts';

export const PATHS: Readonly<Record<DialectName, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
};

/** The smallest request of each dialect. */
export function plainBody(dialect: DialectName, model: string, more: object = {}): object {
  const asked = [{ role: 'user', content: 'Hello' }];
  if (dialect === 'responses') return { model, input: 'Hello', ...more };
  return { model, messages: asked, ...(dialect === 'messages' && { max_tokens: 500 }), ...more };
}

/** Sends a body unchanged. */
export function send(
  { url }: Pick<TestDaemon, 'url'>,
  dialect: DialectName,
  body: object,
  { key = OWNER_KEY, ...init }: { readonly key?: string; readonly signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(url + PATHS[dialect], {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...init,
  });
}

export interface WireEvent {
  readonly event: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: events of three formats
  readonly data: any;
}

/** The events of a stream, read strictly: LF, one data line, JSON or [DONE]. Skips comments. */
export function eventsOf(text: string): WireEvent[] {
  if (!text.endsWith('\n\n')) throw new Error(`the stream breaks off: ${text.slice(-80)}`);
  return text
    .slice(0, -2)
    .split('\n\n')
    .flatMap((frame) => {
      const lines = frame.split('\n').filter((line) => !line.startsWith(':'));
      if (lines.length === 0) return [];
      const event = lines.find((line) => line.startsWith('event: '))?.slice(7) ?? null;
      const data = lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice(6));
      if (data.length !== 1) throw new Error(`not one line of data: ${frame}`);
      return [{ event, data: data[0] === '[DONE]' ? '[DONE]' : JSON.parse(data[0]!) }];
    });
}
