import { expect, it } from 'vitest';
import { markdownOf, reportOf, textOf } from '../../../src/cli/daemon/with-report.ts';
import type { Store } from '../../../src/store/store.ts';

/** A store with requests that failed before their model was known, by the name that each one gave. */
function refused(...names: readonly string[]): Store {
  const records = names.map((name, index) => ({
    ...{ method: 'POST', status: 404, route: '/v1/messages', model: null, named_model: name },
    error: { type: 'invalid_request', code: null, message: `no ${index}: ${name}` },
  }));
  const query = async () => ({ records: records.toReversed(), next: null });
  return { listUsage: async () => [], requests: { query } } as unknown as Store;
}

it('misses of cassettes are counted by model and listed', async () => {
  const miss = (model: string) => ({ model, message: `${model}: messages[0].content differs` });
  const report = await reportOf(refused('a'), [miss('a'), miss('b'), miss('a')]);
  expect(report).toMatchObject({ requests: 1, failed: 1, misses: 3 });
  expect(report.models.map(({ model, misses }) => [model, misses])).toEqual([
    ['a', 2],
    ['b', 1],
  ]);
  expect((await textOf(report)).split('\n').slice(-3)).toEqual([
    'cassette miss: a: messages[0].content differs',
    'cassette miss: b: messages[0].content differs',
    '',
  ]);
});

it('texts of requests control neither the terminal, nor the Markdown, nor the runner of GitHub', async () => {
  const hostile = [
    '\u001b[2J',
    'a\nb',
    '::error::d',
    '##[group]e',
    '| c |',
    '<img src=x>',
    '[x](http://a)',
    '\u202e',
    '漢字',
  ];
  const report = await reportOf(refused(...hostile), []);
  const text = await textOf(report);
  expect(text.match(/\n/g)).toHaveLength(1 + 9 + 1 + 5 + 1);
  expect(text).toMatch(/^and 4 other failures$/m);
  expect(text).not.toMatch(/[\u001b\u202e]|^\s*::|##\[/m);
  const markdown = markdownOf(report);
  expect(markdown).not.toMatch(/[\u001b\u202e]|<img|\]\(|\| c/);
  for (const line of markdown.split('\n').filter((row) => row.startsWith('|'))) {
    expect(line.split('|')).toHaveLength(9);
  }
});
