import { describe, expect, it } from 'vitest';
import { ChunkRenamer } from '../../../src/text/relay/model-name.ts';

const frame = (model: string, content = 'Hi', more = {}) =>
  `data: ${JSON.stringify({ id: 'c', model, choices: [{ index: 0, delta: { content } }], ...more })}\n\n`;
/** As the relay reads frames: bytes as characters. */
const latin1 = (text: string) => Buffer.from(text).toString('latin1');
const rename = (text: string, name = 'mine') =>
  Buffer.from(new ChunkRenamer(name).rename(latin1(text)), 'latin1').toString();

describe('the model of chunks that are passed on', () => {
  it('is renamed in each frame, and nothing else is', () => {
    const text = 'ä€🙂 "model":"theirs" \\ {"model": "x"}';
    const frames = frame('theirs', text) + frame('theirs-2026', text);
    expect(rename(frames)).toBe(frame('mine', text) + frame('mine', text));
  });

  it('is renamed once in a frame', () => {
    const usage = { model: 'x', cost: 1 };
    expect(rename(frame('theirs', 'Hi', { usage }))).toBe(frame('mine', 'Hi', { usage }));
  });

  it.each(['', 'a"b\\', 'ä€🙂', '"model":"x"'])('may be any name: %j', (name) => {
    expect(rename(frame(name))).toBe(frame('mine'));
    expect(rename(frame('theirs'), name)).toBe(frame(name));
  });

  it.each(['\n', '\r\n', '\r'])('is found whatever ends lines: %j', (line) => {
    const framed = (model: string) =>
      `: comment${line}event: x${line}${(frame(model) + frame(model)).replaceAll('\n', line)}`;
    expect(rename(framed('theirs'))).toBe(framed('mine'));
  });

  it('is found behind a space, and over several lines of data', () => {
    const framed = (model: string) => `data: {"id":"c",\ndata: "model":  "${model}"}\n\n`;
    expect(rename(framed('theirs'))).toBe(framed('mine'));
  });

  it.each([
    frame('mine'),
    'data: [DONE]\n\n',
    'data: {"model":null}\n\n',
    'data: {"model":"theirs',
    'data: {"model":"theirs\\"',
    '',
  ])('the bytes stay the same where there is none to rename: %j', (frames) => {
    const bytes = latin1(frames);
    expect(new ChunkRenamer('mine').rename(bytes)).toBe(bytes);
  });
});
