import fc from 'fast-check';
import { expect, it } from 'vitest';
import { InputReader } from '../../../src/text/emulation/text-input.ts';

function readAll(pieces: readonly string[]): string {
  const reader = new InputReader();
  return pieces.map((piece) => reader.push(piece)).join('') + reader.end();
}

it('reads any text, whatever the chunks and the escapes', () => {
  const text = fc.string({ unit: 'binary', maxLength: 30 });
  fc.assert(
    fc.property(text, fc.boolean(), fc.integer({ min: 1, max: 7 }), (input, isAscii, size) => {
      const plain = JSON.stringify({ input }, null, size % 2);
      const json = isAscii ? plain.replace(/[^ -~\n]/g, escaped) : plain;
      const pieces = json.match(new RegExp(`.{1,${size}}`, 'gs'))!;
      expect(readAll(pieces)).toBe(input);
    }),
    { numRuns: 60 },
  );
});

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

it('returns text before the arguments end', () => {
  const reader = new InputReader();
  expect(reader.push('{"inp')).toBe('');
  expect(reader.push('ut": "one\\')).toBe('one');
  expect(reader.push('n')).toBe('\n');
  expect(reader.push('two", "more": "three"}')).toBe('two');
  expect(reader.end()).toBe('');
});

it.each([
  ['{"other":1,"input":"text"}', 'text'],
  ['{"patch":"text"}', '{"patch":"text"}'],
  ['{"input":{"a":1}}', '{"input":{"a":1}}'],
  ['*** Begin Patch', '*** Begin Patch'],
  ['{"input":"cut', 'cut'],
  ['{}', ''],
  ['', ''],
  [' '.repeat(5000), ' '.repeat(5000)],
])('reads %j', (json, text) => {
  expect(readAll([json])).toBe(text);
  expect(readAll(json.split(''))).toBe(text);
});
