import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startDaemon } from '../daemon.ts';
import { temporaryFolder } from '../oriel.ts';

const content = 'Hello';
const messages = [{ role: 'user', content }];
const contents = [{ role: 'user', parts: [{ text: content }] }];

/** Requests in each format; `two` has two providers, `other` one of another format. */
const REQUESTS: readonly (readonly [string, object])[] = [
  ['/v1/chat/completions', { model: 'two', messages }],
  ['/v1/chat/completions', { model: 'other', messages, stream: true }],
  ['/v1/chat/completions', { model: 'two', messages, n: 2 }],
  ['/v1/responses', { model: 'two', input: content }],
  ['/v1/responses', { model: 'other', input: content, stream: true }],
  ['/v1/messages', { model: 'two', messages, max_tokens: 9 }],
  ['/v1/messages', { model: 'other', messages, max_tokens: 9, stream: true }],
  ['/v1beta/models/two:generateContent', { contents }],
  ['/v1beta/models/other:streamGenerateContent?alt=sse', { contents }],
  ['/v1/embeddings', { model: 'vectors', input: content }],
];

const provider = (kind: string) => ({
  kind,
  baseUrl: 'http://127.0.0.1:9/v1',
  apiKey: 'a-key-1234',
});
const config = {
  routing: { cooldown: { after: 1, for: '1h' } },
  providers: { one: provider('openai'), more: provider('openai'), claude: provider('anthropic') },
  models: {
    two: {
      type: 'text',
      routes: [
        { provider: 'one', model: 'gpt', dialect: 'chat' },
        { provider: 'more', model: 'gpt-2', dialect: 'chat' },
      ],
    },
    other: { type: 'text', routes: [{ provider: 'claude', model: 'claude' }] },
    vectors: { type: 'embedding', routes: [{ provider: 'one', model: 'embed' }] },
  },
};

it('a request without a recording fails in each format, asks no other provider and starts no cooldown', async () => {
  const dir = join(temporaryFolder(), 'cassettes');
  mkdirSync(dir);
  const daemon = await startDaemon({ config, args: ['--replay', dir] });
  // Twice: a route that had failed would have a cooldown at the second request.
  for (const [path, body] of [...REQUESTS, ...REQUESTS]) {
    const response = await daemon.send(path, body);
    const text = await response.text();
    expect([path, response.status, text]).toEqual([
      path,
      502,
      expect.stringContaining('no recording answers POST '),
    ]);
  }
  const { status, stderr } = await daemon.stop();
  expect(status).toBe(1);
  expect(stderr).toMatch(/cassette miss: no recording answers POST \S+ of gpt\b/);
  expect(stderr).toMatch(/cassette miss: no recording answers POST \S+ of claude\b.*times\)/);
  expect(stderr).not.toContain('gpt-2');
});
