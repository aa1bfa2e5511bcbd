import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chat } from '../../../src/text/dialects/chat/chat.ts';
import { messages } from '../../../src/text/dialects/messages/messages.ts';
import { responses } from '../../../src/text/dialects/responses/responses.ts';
import { SplitKeyFilter } from '../../../src/text/relay/split-key.ts';
import { dataOf } from '../../../src/text/relay/sse.ts';
import { runs } from '../../runs.ts';

const KEY = 'sk-sk-provider-"/\\5ecre7';

/** Members that hold text in the three formats. */
const MEMBERS = [chat, responses, messages].flatMap(({ textMembers }) => textMembers);

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

/** The text of all deltas, in order. */
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

describe('SplitKeyFilter', () => {
  it('redacts a key however it is split and escaped, and changes nothing else', () => {
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
          const filter = new SplitKeyFilter(KEY, MEMBERS);
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
          const text = textIn(sent);
          expect(text).not.toContain(KEY);
          // The first three characters may be sent before the filter starts to hold.
          const [head, tail] = [before.join(''), after.join('')];
          expect(text.startsWith(head) && text.endsWith(`[key]${tail}`)).toBe(true);
          const kept = text.slice(head.length, text.length - tail.length - '[key]'.length);
          expect(kept.length).toBeLessThan(4);
        },
      ),
      { numRuns: runs(500) },
    );
  });

  function escapedTexts(json: string, text: string): string {
    const quoted = JSON.stringify(text);
    return json.replace(quoted, () => escaped(quoted));
  }

  it('redacts a key in one choice while deltas of another choice interleave', () => {
    const filter = new SplitKeyFilter(KEY, MEMBERS);
    let sent = '';
    const push = (index: number, content: string) => {
      const frame = `data: ${JSON.stringify({ choices: [{ index, delta: { content } }] })}\n\n`;
      sent += filter.push(frame) ?? '';
    };
    for (const sign of KEY) {
      push(0, sign);
      push(1, '-');
    }
    sent += filter.finish('');
    expect(textIn(sent).replaceAll('-', '')).toBe('sk[key]');
  });

  it('releases held frames when the text differs from the key, or after 64 writes', () => {
    const filter = new SplitKeyFilter(KEY, MEMBERS);
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

  it('redacts the beginning of a key at the end of the stream', () => {
    const filter = new SplitKeyFilter(KEY, MEMBERS);
    const frame = `data: ${JSON.stringify({ delta: KEY.slice(0, 15) })}\n\n`;
    expect(filter.push(frame)).toBeNull();
    expect(filter.finish('')).toBe('data: {"delta":"[key]"}\n\n');
  });
});
