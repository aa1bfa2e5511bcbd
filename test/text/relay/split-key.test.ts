import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SplitKeyFilter } from '../../../src/text/relay/split-key.ts';
import { dataOf } from '../../../src/text/relay/sse.ts';

const KEY = 'sk-sk-provider-"/\\5ecre7';

/** Shapes of deltas in the three formats. */
const SHAPES = [
  (text: string) => ({ choices: [{ index: 0, delta: { content: text } }] }),
  (text: string) => ({ choices: [{ index: 0, delta: { reasoning_content: text } }] }),
  (text: string) => ({ type: 'response.output_text.delta', output_index: 1, delta: text }),
  (text: string) => ({ type: 'content_block_delta', index: 2, delta: { type: 'x', text } }),
  (text: string) => ({ index: 3, delta: { type: 'input_json_delta', partial_json: text } }),
];

const escaped = (json: string) =>
  json.replace(/[sk5]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);

/** The deltas that a client puts together, in their order. */
function textIn(frames: string): string {
  let text = '';
  dataOf(frames, (data) => {
    const { delta, choices } = JSON.parse(data) as Record<string, never>;
    const piece = (delta ?? choices![0]!['delta']) as unknown as string | Record<string, string>;
    text += typeof piece === 'string' ? piece : Object.values(piece).at(-1);
  });
  return text;
}

const pieces = fc.array(fc.nat({ max: KEY.length }), { maxLength: 8 }).map((cuts) => {
  const ends = [...cuts, KEY.length].sort((a, b) => a - b);
  return ends.map((end, index) => KEY.slice(ends[index - 1] ?? 0, end));
});

describe('a key in pieces', () => {
  it('is redacted wherever it is cut, however it is escaped, and nothing else changes', () => {
    const words = fc.constantFrom('', 'a', 'sk-', 'é ', '😀', '\n', 'sk-sk', '"\\u0073');
    fc.assert(
      fc.property(
        fc.constantFrom(...SHAPES),
        pieces,
        fc.array(words, { maxLength: 4 }),
        fc.array(words, { maxLength: 4 }),
        fc.boolean(),
        fc.boolean(),
        fc.boolean(),
        (shape, cut, before, after, isEscaped, isBytes, isTogether) => {
          const filter = new SplitKeyFilter(KEY);
          const frames = [...before, ...cut, ...after].map((text) => {
            const json = JSON.stringify(shape(text));
            return `data: ${isEscaped && KEY.includes(text) ? escapedTexts(json, text) : json}\n\n`;
          });
          const writes = isTogether ? [frames.join('')] : frames;
          let sent = '';
          for (const write of writes) {
            sent += (filter.push(isBytes ? Buffer.from(write) : write) ?? '').toString();
          }
          sent += filter.finish('');
          const told = textIn(sent);
          expect(told).not.toContain(KEY);
          // The first characters may have left before the others came.
          const [head, tail] = [before.join(''), after.join('')];
          expect(told.startsWith(head) && told.endsWith(`[key]${tail}`)).toBe(true);
          const kept = told.slice(head.length, told.length - tail.length - '[key]'.length);
          expect(kept.length).toBeLessThan(4);
        },
      ),
      { numRuns: 500 },
    );
  });

  function escapedTexts(json: string, text: string): string {
    const quoted = JSON.stringify(text);
    return json.replace(quoted, () => escaped(quoted));
  }

  it('is redacted in the answer that it stands in, while another goes on', () => {
    const filter = new SplitKeyFilter(KEY);
    let sent = '';
    const say = (index: number, content: string) => {
      const frame = `data: ${JSON.stringify({ choices: [{ index, delta: { content } }] })}\n\n`;
      sent += filter.push(frame) ?? '';
    };
    for (const sign of KEY) {
      say(0, sign);
      say(1, '-');
    }
    sent += filter.finish('');
    expect(textIn(sent).replaceAll('-', '')).toBe('sk[key]');
  });

  it('holds nothing back once the text goes on otherwise, or other texts do', () => {
    const filter = new SplitKeyFilter(KEY);
    const frame = (content: string, index = 0) =>
      `data: ${JSON.stringify({ choices: [{ index, delta: { content } }] })}\n\n`;
    expect(filter.push(frame('sk-s'))).toBeNull();
    expect(String(filter.push(frame('ome')))).toBe(frame('sk-s') + frame('ome'));
    expect(filter.push(frame('sk-s'))).toBeNull();
    for (let index = 0; index < 63; index += 1) expect(filter.push(frame('x', 1))).toBeNull();
    expect(String(filter.push(frame('x', 1)))).toContain('sk-s');
    expect(filter.push(frame('x', 1))).toBe(frame('x', 1));
    expect(filter.finish('data: [DONE]\n\n')).toBe('data: [DONE]\n\n');
  });

  it('is redacted in part where the rest never comes', () => {
    const filter = new SplitKeyFilter(KEY);
    const frame = `data: ${JSON.stringify({ delta: KEY.slice(0, 15) })}\n\n`;
    expect(filter.push(frame)).toBeNull();
    expect(filter.finish('')).toBe('data: {"delta":"[key]"}\n\n');
  });
});
