import '../../../../src/text/built-in-dialects.ts';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/text/canonical/canonical.ts';
import type { TextEvent } from '../../../../src/text/canonical/events.ts';
import { chat } from '../../../../src/text/dialects/chat/chat.ts';
import { outsideFolder, SKIPPED } from '../../../outside-material.ts';
import { blocksOf, decode, decodeWhole, finishOf, request } from './conversation.ts';

const folder = outsideFolder('recordings/openai-chat');

function read(name: string, skip: (why: string) => void): string {
  if (!folder.isPresent) skip(SKIPPED);
  return folder.read(name);
}

/** The content of a stream, read from its chunks without code under test. */
function plainly(lines: readonly string[]): { text: string; usage: Json | undefined } {
  const chunks = lines.map(
    (line) =>
      JSON.parse(line) as {
        choices: { delta?: { content?: string } }[];
        usage?: Json;
      },
  );
  const text = chunks.map(({ choices }) => choices[0]?.delta?.content ?? '').join('');
  return { text, usage: chunks.findLast(({ usage }) => usage)?.usage };
}

describe('recorded chat answers', () => {
  it.for(['azure-model-router.1.chunks.txt', 'openai-text.chunks.txt'])('%s', (name, { skip }) => {
    const lines = read(name, skip).split('\n').filter(Boolean);
    const events = decode([...lines, '[DONE]']);
    const { text, usage } = plainly(lines);
    expect(text).not.toBe('');
    expect(blocksOf(events)).toEqual([{ type: 'text', text }]);
    expect(finishOf(events)).toMatchObject({
      reason: 'stop',
      usage: { input: usage!['prompt_tokens'], output: usage!['completion_tokens'] },
    });
    again(events, text);
  });

  it('openai-text.json', ({ skip }) => {
    const body = JSON.parse(read('openai-text.json', skip));
    const events = decodeWhole(body);
    const text = body.choices[0].message.content;
    expect(blocksOf(events)).toEqual([{ type: 'text', text }]);
    expect(finishOf(events)).toMatchObject({ raw: 'stop', usage: { input: 16, output: 363 } });
    again(events, text);
    const observed = chat.observeAnswer(body);
    expect(observed.body).toMatchObject({ ...body, usage: { ...body.usage, input_tokens: 16 } });
  });

  it('reasoning-model-legacy-parameter-error.json', ({ skip }) => {
    const body = JSON.parse(read('reasoning-model-legacy-parameter-error.json', skip));
    expect(decodeWhole(body)).toMatchObject([{ type: 'error' }]);
  });
});

/** Encodes events for a client and decodes them again. */
function again(events: readonly TextEvent[], text: string): void {
  const context = { request: request({ stream: true }), created: 1 };
  const encoder = chat.encodeEvents(context);
  const frames = events.map((event) => encoder.push(event)).join('');
  const data = frames.split('\n\n').map((frame) => frame.replace(/^data: /, ''));
  expect(blocksOf(decode(data))).toEqual([{ type: 'text', text }]);
  expect(chat.foldEvents(context, [events])).toMatchObject({
    choices: [{ message: { content: text } }],
  });
}
