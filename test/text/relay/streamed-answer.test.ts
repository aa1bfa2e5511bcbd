import { expect, it } from 'vitest';
import { dialectNamed } from '../../../src/text/dialects/registry.ts';
import { StreamedAnswer } from '../../../src/text/relay/streamed-answer.ts';
import '../../../src/text/built-in-dialects.ts';

const delta = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;

const answerOf = (limit: number, frames: readonly (string | Buffer)[]) => {
  const answer = new StreamedAnswer(dialectNamed('chat'), limit);
  for (const one of frames) answer.push(one);
  return JSON.parse(answer.json()) as unknown;
};

const finish =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const [first, second] = [delta('Hello '), delta('wörld')];

it.each([
  ['whole', 10_000, [first, second, finish], { text: 'Hello wörld', finish_reason: 'stop' }],
  [
    'in pieces',
    10_000,
    [...Buffer.from(first + second + finish)].map((byte) => Buffer.of(byte)),
    { text: 'Hello wörld' },
  ],
  ['cut by its client', 10_000, [first, second], { text: 'Hello wörld', finish_reason: null }],
  [
    'longer than what is kept',
    100,
    [first, second, finish],
    { text: 'Hello ', finish_reason: null },
  ],
  [
    'ended by a failure',
    10_000,
    [first, 'data: {"error":{"message":"x"}}\n\n'],
    { text: 'Hello ' },
  ],
  ['of nothing', 10_000, [': keep-alive\n\n'], { text: '', finish_reason: null }],
  ['of no JSON', 10_000, ['data: {\n\n', first], { text: '', finish_reason: null }],
])('a streamed answer is kept: one %s', (_, limit, frames, expected) => {
  expect(answerOf(limit, frames)).toMatchObject(expected);
});
