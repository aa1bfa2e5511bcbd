import { describe, expect, it } from 'vitest';
import { progressLine } from '../../../src/cli/terminal/progress.ts';
import { cutEnd, cutMiddle, textWidth } from '../../../src/cli/terminal/text-width.ts';

describe('text width', () => {
  it.each([
    ['', 0],
    ['plain', 5],
    ['写真', 4],
    ['e\u0301', 1],
    ['👍', 2],
    ['\u001b[48;5;9m  \u001b[0m', 2],
  ])('%j is %i columns wide', (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  it.each([
    ['photographs/a.jpg', 17, 'photographs/a.jpg'],
    ['photographs/a.jpg', 11, 'photo…a.jpg'],
    ['写真の写真.jpg', 9, '写真….jpg'],
    ['e\u0301e\u0301e\u0301e\u0301', 3, 'e\u0301…e\u0301'],
    ['abc', 1, '…'],
  ])('%j is shortened in the middle to %i: %s', (text, columns, cut) => {
    expect(cutMiddle(text, columns)).toBe(cut);
    expect(textWidth(cut)).toBeLessThanOrEqual(columns);
  });

  it.each([
    ['a message', 9, 'a message'],
    ['a message', 5, 'a me…'],
    ['写真写真', 4, '写…'],
  ])('%j is shortened at its end to %i: %s', (text, columns, cut) => {
    expect(cutEnd(text, columns)).toBe(cut);
  });
});

describe('the progress line', () => {
  it.each<[done: number, total: number, milliseconds: number, columns: number, text: RegExp]>([
    [0, 100, 5000, 80, /^░{40} 0% \| 0 of 100$/],
    [50, 100, 5000, 80, /^█{20}░{20} 50% \| 50 of 100 \| 10 files\/s \| 5s left$/],
    [1, 1000, 1000, 80, /^[█░]+ 0% \| 1 of 1000 \| 1\.0 files\/s \| 16m39s left$/],
    [1, 100_000, 1000, 80, /27h46m left$/],
    [1, 1000, 1000, 45, /^[█░]{10,} 0% \| 1 of 1000 \| 1\.0 files\/s$/],
    [1, 1000, 1000, 28, /^[█░]{10,} 0% \| 1 of 1000$/],
    [1, 1000, 1000, 20, /^0% \| 1 of 1000$/],
    [1, 1000, 1000, 5, /^0% \|$/],
  ])('of %i of %i files after %i ms in %i columns', (done, total, milliseconds, columns, text) => {
    const line = progressLine(done, total, milliseconds, columns);
    expect(line).toMatch(text);
    expect(line.length).toBeLessThan(columns);
  });
});
