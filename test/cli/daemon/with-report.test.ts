import { expect, it } from 'vitest';
import { markdownOf, reportOf, textOf } from '../../../src/cli/daemon/with-report.ts';
import { Failure } from '../../../src/failure.ts';
import { RecentRequests } from '../../../src/http/observability/recent-requests.ts';
import type { Store } from '../../../src/store/store.ts';

const STORE = { listUsage: async () => [] } as unknown as Store;

/** Requests that failed before their model was known, by the name that each one gave. */
function refused(...names: readonly string[]): RecentRequests {
  const recent = new RecentRequests();
  for (const [index, model] of names.entries()) {
    const failure = new Failure('invalid_request', `no ${index}: ${model}`);
    const request = { id: '', method: 'POST', status: 404, milliseconds: 1, params: {} };
    const rest = { holder: undefined, textReport: null, firstFrameMs: null, task: null };
    recent.add({ ...request, ...rest, route: '/v1/messages', failure, body: { model } });
  }
  return recent;
}

it('misses of cassettes are counted by model and listed', async () => {
  const miss = (model: string) => ({ model, message: `${model}: messages[0].content differs` });
  const report = await reportOf(STORE, refused('a'), [miss('a'), miss('b'), miss('a')]);
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
  const report = await reportOf(STORE, refused(...hostile), []);
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
