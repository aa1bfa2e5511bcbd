import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Block, blocksOf, inlinesOf } from '../../../src/console/views/chat/markdown.ts';

const paragraph = (...content: unknown[]) => ({ type: 'paragraph', content });

describe('Markdown of answers', () => {
  const code = { type: 'code', language: 'make', text: 'all:\n\tdo **it**' };
  const inner = { type: 'list', start: null, items: [[paragraph('b')], [paragraph('c')]] };
  const item = [paragraph('a'), inner, paragraph('d')];
  const rows = [
    [['1'], [{ type: 'strong', content: ['2'] }]],
    [['4'], []],
  ];

  it.each([
    ['a heading', '# A\nb\nc', [{ type: 'heading', content: ['A'] }, paragraph('b\nc')]],
    ['a rule', '---', [{ type: 'rule' }]],
    ['a quote', '> d\n> e', [{ type: 'quote', content: [paragraph('d\ne')] }]],
    [
      'a list within a list, its first number, and paragraphs of items',
      '3. a\n   - b\n   - c\n\n   d\n4. e',
      [{ type: 'list', start: 3, items: [item, [paragraph('e')]] }],
    ],
    ['a sentence with a number', 'It was in\n1986. A year', [paragraph('It was in\n1986. A year')]],
    ['code with its tabs', '```make\nall:\n\tdo **it**\n```\nx', [code, paragraph('x')]],
    ['code whose end has not come', '```make\nall:\n\tdo **it**', [code]],
    [
      'a table',
      '| a | b |\n|---|:-:|\n| 1 | **2** | 3 |\n| 4 |',
      [{ type: 'table', head: [['a'], ['b']], rows }],
    ],
  ])('reads %s', (_, text, blocks) => {
    expect(blocksOf(text)).toEqual(blocks);
  });

  it('reads bold, italics, code and escapes, and leaves marks without an end', () => {
    expect(inlinesOf('a **b *c*** `d*` \\*e* 2 * 3 **f')).toEqual(
      expect.arrayContaining([{ type: 'code', text: 'd*' }]),
    );
    expect(inlinesOf('**b** *c* \\*d')).toEqual([
      { type: 'strong', content: ['b'] },
      ' ',
      { type: 'em', content: ['c'] },
      ' ',
      '*',
      'd',
    ]);
    expect(inlinesOf('2 * 3 ** 4 `x')).toEqual(['2 * 3 ** 4 `x']);
  });

  it('links addresses of HTTP and nothing else', () => {
    const link = (href: string, text: string) => ({ type: 'link', href, content: [text] });
    expect(inlinesOf('[a](https://example.com/b_(c) "t") and https://example.com/d.')).toEqual([
      link('https://example.com/b_(c)', 'a'),
      ' and ',
      link('https://example.com/d', 'https://example.com/d'),
      '.',
    ]);
    for (const text of [
      '[a](javascript:alert(1))',
      '[a](data:text/html,x)',
      '[a](//example.com)',
      '<script>alert(1)</script>',
      '[a](https://)',
    ]) {
      expect(inlinesOf(text).every((one) => typeof one === 'string')).toBe(true);
    }
  });

  it('loses no letter of any text, and makes links to HTTP only', () => {
    const pieces = fc.constantFrom(
      ...['a', 'b ', '\n', '\n\n', '- ', '1. ', '> ', '**', '*', '`', '```\n', '[', '](', ')'],
      ...['https://e.com', '|', '|-|', '# ', '    ', '\t', '\\'],
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
        const text = parts.join('');
        const read = JSON.stringify(blocksOf(text));
        const letters = (one: string) => [...one].filter((letter) => letter === 'b').length;
        const shown = read.replace(/"(type|language|href|start)":("[^"]*"|null|\d+)/g, '');
        expect(letters(shown)).toBeGreaterThanOrEqual(letters(text.replace(/```.*/g, '')));
        for (const [, href] of read.matchAll(/"href":"([^"]*)"/g)) {
          expect(href).toMatch(/^https?:/);
        }
      }),
      { numRuns: 300 },
    );
  });

  it.each(['*', '**a ', '`', '[', '![a](', '> ', '- ', '  - ', '|', '_', '\\', '# ', 'http://a'])(
    'takes steps in proportion to a long text of %j',
    (piece) => {
      const depth = (blocks: readonly Block[]): number =>
        Math.max(
          0,
          ...blocks.map((one) =>
            one.type === 'quote'
              ? 1 + depth(one.content)
              : one.type === 'list'
                ? 1 + Math.max(...one.items.map(depth))
                : 0,
          ),
        );
      // A quadratic reader would exceed the limit of the test.
      expect(depth(blocksOf(piece.repeat(200_000)))).toBeLessThan(20);
      expect(depth(blocksOf(`${piece}\n`.repeat(50_000)))).toBeLessThan(20);
    },
  );
});
