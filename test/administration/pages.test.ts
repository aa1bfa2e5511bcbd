import { expect, it } from 'vitest';
import { readPage, runToLastPage } from '../../src/administration/pages.ts';
import { ADMIN_COMMANDS } from '../../src/administration/registry.ts';
import type { Selection } from '../../src/store/selection.ts';

const IDS = ['a', 'b', 'c', 'd', 'e'];

const list = async ({ limit = 9, after }: Selection) =>
  IDS.slice(after === undefined ? 0 : IDS.indexOf(after) + 1)
    .slice(0, limit)
    .map((id) => ({ id }));

it('a page states whether another follows, also where elements are left out', async () => {
  const isKept = ({ id }: { id: string }) => id !== 'b';
  expect(await readPage(list, { limit: 2 })).toEqual({
    items: [{ id: 'a' }, { id: 'b' }],
    hasMore: true,
  });
  expect(await readPage(list, { limit: 2, after: 'c' })).toMatchObject({ hasMore: false });
  expect(await readPage(list, { limit: 2 }, isKept)).toEqual({
    items: [{ id: 'a' }, { id: 'c' }],
    hasMore: true,
  });
  expect(await readPage(list, { limit: 4 }, isKept)).toMatchObject({ hasMore: false });
  expect((await readPage(list, {})).items).toHaveLength(5);
});

const listAccounts = ADMIN_COMMANDS.find(
  ({ group, name }) => group === 'accounts' && name === 'list',
)!;

const run = async ({ after }: { after?: string }) => {
  const { items, hasMore } = await readPage(list, { limit: 2, after });
  return { result: { accounts: items, hasMore } };
};

it('a list of the command line is read to its last page', async () => {
  expect(await runToLastPage(listAccounts, {}, run)).toEqual({
    result: { accounts: IDS.map((id) => ({ id })), hasMore: false },
  });
  expect(await runToLastPage(listAccounts, { limit: 2 }, run)).toMatchObject({
    result: { accounts: [{ id: 'a' }, { id: 'b' }], hasMore: true },
  });
});

it('a list whose next page cannot be read is no list', async () => {
  const failing = async (page: { after?: string }) => (page.after ? undefined : run(page));
  expect(await runToLastPage(listAccounts, {}, failing)).toBeUndefined();
});
