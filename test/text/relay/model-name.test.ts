import { describe, expect, it } from 'vitest';
import { ChunkRenamer } from '../../../src/text/relay/model-name.ts';

const frame = (model: string, content = 'Hi', more = {}) =>
  `data: ${JSON.stringify({ id: 'c', model, choices: [{ index: 0, delta: { content } }], ...more })}\n\n`;
/** Frames as the relay reads them: one character per byte. */
const latin1 = (text: string) => Buffer.from(text).toString('latin1');
const rename = (text: string, name = 'mine') =>
  Buffer.from(new ChunkRenamer(name, 'model').rename(latin1(text)), 'latin1').toString();

describe('ChunkRenamer', () => {
  it('replaces the model in each frame and leaves all else', () => {
    const text = 'ä€🙂 "model":"theirs" \\ {"model": "x"}';
    const frames = frame('theirs', text) + frame('theirs-2026', text);
    expect(rename(frames)).toBe(frame('mine', text) + frame('mine', text));
  });

  it('replaces only the first model of a frame', () => {
    const usage = { model: 'x', cost: 1 };
    expect(rename(frame('theirs', 'Hi', { usage }))).toBe(frame('mine', 'Hi', { usage }));
  });

  it.each(['', 'a"b\\', 'ä€🙂', '"model":"x"'])('replaces from and to any name: %j', (name) => {
    expect(rename(frame(name))).toBe(frame('mine'));
    expect(rename(frame('theirs'), name)).toBe(frame(name));
  });

  it.each(['\n', '\r\n', '\r'])('finds the model with any line ending: %j', (line) => {
    const framed = (model: string) =>
      `: comment${line}event: x${line}${(frame(model) + frame(model)).replaceAll('\n', line)}`;
    expect(rename(framed('theirs'))).toBe(framed('mine'));
  });

  it('finds the model after spaces and in data of several lines', () => {
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
  ])('returns the same string if there is no model to replace: %j', (frames) => {
    const bytes = latin1(frames);
    expect(new ChunkRenamer('mine', 'model').rename(bytes)).toBe(bytes);
  });
});
