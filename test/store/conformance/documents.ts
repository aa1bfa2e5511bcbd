import { describe, expect, it } from 'vitest';
import {
  type Document,
  type DocumentQuery,
  MAX_PAGE_BYTES,
  type NewDocument,
} from '../../../src/store/document.ts';
import { bothOf, crashed, failureWith, freshStore, ownedStore } from '../fresh-store.ts';
import type { DriverFactory } from './driver-factory.ts';

export const documentFor = (id: string, change: Partial<NewDocument> = {}): NewDocument => ({
  ...{ kind: 'response', accountId: 'acct_1', id, parent: null, expiresAt: null, isOpen: false },
  ...{ body: { text: `of ${id} \u0000 \ud83d` }, ...change },
});

const idsOf = (documents: readonly Document[]) => documents.map(({ id }) => id);

/** Identifiers that are no names of files, and one that differs from another only in its case. */
const IDS = ['resp_1', 'resp_2', 'RESP_2', 'a/../b', '\u0000 \ud83d', 'x'.repeat(500), '.', 'é.1'];

const LISTS: readonly (readonly [Partial<DocumentQuery>, string, boolean])[] = [
  [{}, 'abcd', false],
  [{ limit: 2 }, 'ab', true],
  [{ limit: 2, after: 'b' }, 'cd', false],
  [{ limit: 1, after: 'b' }, 'c', true],
  [{ after: 'd' }, '', false],
  [{ order: 'desc' }, 'dcba', false],
  [{ order: 'desc', limit: 2, after: 'd' }, 'cb', true],
  [{ parent: 'p' }, 'bd', false],
  [{ parent: 'p', order: 'desc', limit: 1 }, 'd', true],
  [{ parent: 'p', order: 'desc', limit: 1, after: 'd' }, 'b', false],
  [{ parent: 'other' }, '', false],
  [{ accountId: 'acct_2' }, '', false],
  [{ kind: 'batch' }, '', false],
];

/** Tests of documents for every driver. */
export function describeDocuments(driver: DriverFactory): void {
  describe('documents', () => {
    it('are found by kind, account and identifier, also after a restart', async () => {
      const { store, reopened } = await freshStore(driver, { now: () => 5 });
      const added = await store.documents.add(IDS.map((id) => documentFor(id)));
      for await (const { documents } of bothOf(store, reopened)) {
        for (const [at, id] of IDS.entries()) {
          const found = await documents.find({ kind: 'response', accountId: 'acct_1', id });
          expect(found).toEqual({ ...documentFor(id), createdAt: 5, version: 1 });
          expect(found).toEqual(added[at]);
          for (const other of [{ accountId: 'acct_2' }, { kind: 'batch' }, { id: 'resp' }] as const)
            expect(await documents.find({ ...documentFor(id), ...other })).toBeUndefined();
        }
      }
    });

    it('are on disk when their call resolves, all of one call or none', async () => {
      const { store, place } = await freshStore(driver, { isUnchecked: true });
      const parts = ['i_1', 'i_2'].map((id) =>
        documentFor(id, { kind: 'response_item', parent: 'resp_1', body: null }),
      );
      const [first] = await store.documents.add([documentFor('resp_1'), ...parts]);
      await store.documents.change(first!, { body: { text: 'changed' }, isOpen: true });
      const taken = store.documents.add([documentFor('resp_2'), documentFor('resp_1')]);
      await expect(taken).rejects.toEqual(failureWith('document_exists', 409));
      const left = await driver.open(await crashed(driver, store, place));
      const { documents } = left;
      const query = { accountId: 'acct_1', limit: 9 } as const;
      const responses = await documents.list({ kind: 'response', ...query });
      expect(responses.documents).toMatchObject([
        { id: 'resp_1', version: 2, isOpen: true, body: { text: 'changed' } },
      ]);
      const items = await documents.list({ kind: 'response_item', parent: 'resp_1', ...query });
      expect(items.documents).toMatchObject([
        { id: 'i_1', body: null },
        { id: 'i_2', parent: 'resp_1' },
      ]);
      await left.close();
    });

    it('are changed by the first of several calls that know the same version', async () => {
      const { store, reopened } = await freshStore(driver);
      const [document] = await store.documents.add([documentFor('resp_1')]);
      const changes = await Promise.allSettled(
        [1, 2, 3].map((at) => store.documents.change(document!, { body: at })),
      );
      const done = changes.filter(({ status }) => status === 'fulfilled');
      expect(done).toMatchObject([{ value: { version: 2 } }]);
      const changed = (done[0] as PromiseFulfilledResult<Document>).value;
      for (const change of changes) {
        if (change.status === 'rejected')
          expect(change.reason).toEqual(failureWith('document_changed', 409));
      }
      for await (const { documents } of bothOf(store, reopened)) {
        expect(await documents.find(changed)).toEqual(changed);
        await expect(documents.change(document!, {})).rejects.toThrow('has changed meanwhile');
      }
      const again = await reopened();
      await again.documents.remove(changed);
      await expect(again.documents.change(changed, {})).rejects.toEqual(
        failureWith('document_changed', 409),
      );
    });

    it('are changed together with charges of the work, once', async () => {
      const { store, reopened, place, key } = await ownedStore(driver, {
        ...{ credits: 1000, isUnchecked: true },
      });
      const { accountId, id: keyId } = key;
      const one = documentFor('resp_1', { accountId });
      const [document] = await store.documents.add([one]);
      const charge = async (body: string) => {
        const held = [await store.reserve(accountId, keyId, 300)];
        const usage = [{ model: 'm', counts: { requests: 1 }, charge: 300 }];
        return store.documents.change(document!, { body }, { charges: { keyId, usage, held } });
      };
      const results = await Promise.allSettled(['first', 'second', 'third'].map(charge));
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const left = await driver.open(await crashed(driver, store, place));
      expect(await left.documents.find(one)).toMatchObject({ version: 2 });
      expect(await left.findAccount(accountId)).toMatchObject({ spent: 300 });
      await left.close();
      if (driver.copyAsCrashed) await (await reopened()).close();
    });

    it('are changed together with others that are added, all or none', async () => {
      const { store, place } = await freshStore(driver, { isUnchecked: true });
      const part = (id: string, parent: string) =>
        documentFor(id, { kind: 'conversation_item', parent });
      const [first, second] = await store.documents.add(
        ['resp_1', 'resp_2'].map((id) => documentFor(id)),
      );
      const added = [part('i_1', 'conv_1'), part('i_2', 'conv_1')];
      const quota = { count: 3, bytes: 1000 };
      const before = store.documents.change(first!, { body: 'kept' }, { added, quota });
      expect(await before).toMatchObject({ version: 2, body: 'kept' });
      const refused: readonly (readonly [string, number, Document, readonly NewDocument[]])[] = [
        ['document_changed', 409, first!, [part('i_3', 'conv_1')]],
        ['document_exists', 409, second!, [part('i_3', 'conv_1'), part('i_1', 'conv_1')]],
        ['storage_full', 402, second!, [part('i_3', 'conv_1'), part('i_4', 'conv_1')]],
      ];
      for (const [code, status, document, others] of refused) {
        const change = store.documents.change(document, { body: 1 }, { added: others, quota });
        await expect(change).rejects.toEqual(failureWith(code, status));
      }
      const left = await driver.open(await crashed(driver, store, place));
      const query = { accountId: 'acct_1', limit: 9 } as const;
      const items = await left.documents.list({ kind: 'conversation_item', ...query });
      expect(items.documents).toMatchObject(added);
      expect(await left.documents.usage('conversation_item', 'acct_1')).toMatchObject({ count: 2 });
      expect(await left.documents.find(second!)).toMatchObject({ version: 1 });
      expect(await left.documents.find(first!)).toMatchObject({ version: 2, body: 'kept' });
      await left.close();
    });

    it.each(LISTS)('are listed in order: %j', async (query, ids, hasMore) => {
      const { store } = await freshStore(driver);
      const { documents } = store;
      for (const id of 'abcd') {
        await documents.add([documentFor(id, { parent: 'bd'.includes(id) ? 'p' : null })]);
      }
      const page = await documents.list({
        ...{ kind: 'response', accountId: 'acct_1', limit: 9, ...query },
      });
      expect([idsOf(page.documents).join(''), page.hasMore]).toEqual([ids, hasMore]);
      const unknown = { kind: 'response', accountId: 'acct_2', limit: 9, after: 'a' } as const;
      await expect(documents.list(unknown)).rejects.toEqual(failureWith('document_not_found', 404));
    });

    it('end a page early where they are large', async () => {
      const { store } = await freshStore(driver);
      const body = 'x'.repeat(MAX_PAGE_BYTES * 0.6);
      for (const id of 'abc') await store.documents.add([documentFor(id, { body, isOpen: true })]);
      expect((await store.documents.listOpen('response', 9)).length).toBeLessThan(3);
      const query = { kind: 'response', accountId: 'acct_1', limit: 9 } as const;
      const ids: string[] = [];
      for (let after: string | undefined; ; ) {
        const page = await store.documents.list({ ...query, ...(after && { after }) });
        ids.push(...idsOf(page.documents));
        if (!page.hasMore) break;
        after = ids.at(-1)!;
        expect(page.documents.length).toBeLessThan(3);
      }
      expect(ids).toEqual(['a', 'b', 'c']);
    });

    it('are deleted with their parts, and then leave nothing', async () => {
      const { store, reopened } = await freshStore(driver);
      const part = { kind: 'conversation_item', parent: 'conv_1' } as const;
      const whole = documentFor('conv_1', { kind: 'conversation' });
      await store.documents.add([whole, documentFor('msg_1', part), documentFor('msg_2', part)]);
      await store.documents.add([documentFor('resp_1')]);
      expect(await store.documents.remove({ ...whole, accountId: 'acct_2' })).toBe(false);
      expect(await store.documents.remove(whole)).toBe(true);
      for await (const { documents } of bothOf(store, reopened)) {
        expect(await documents.remove(whole)).toBe(false);
        expect(await documents.find({ ...whole, ...part, id: 'msg_1' })).toBeUndefined();
        expect(await documents.usage('conversation_item', 'acct_1')).toEqual({
          count: 0,
          bytes: 0,
        });
        expect(await documents.usage('response', 'acct_1')).toMatchObject({ count: 1 });
      }
    });

    it('are refused above the quota of their kind', async () => {
      const { store, reopened } = await freshStore(driver);
      const quota = { count: 2, bytes: 1000 };
      await store.documents.add([documentFor('resp_1')], quota);
      for await (const { documents } of bothOf(store, reopened)) {
        const large = documents.add([documentFor('resp_2', { body: 'x'.repeat(1000) })], quota);
        await expect(large).rejects.toEqual(failureWith('storage_full', 402));
        const three = [documentFor('resp_2'), documentFor('resp_3')];
        await expect(documents.add(three, quota)).rejects.toThrow('at most 2 stored objects');
        const item = { kind: 'conversation_item', parent: 'c' } as const;
        const parts = ['1', '2', '3'].map((id) => documentFor(id, item));
        await expect(documents.add(parts, quota)).rejects.toThrow('at most 2 stored objects');
        await documents.add([documentFor('other', { accountId: 'acct_2' })], quota);
        const bare = parts.map((one) => ({ ...one, accountId: 'acct_2', body: null }));
        await documents.add(bare, quota);
        for (const one of bare) await documents.remove(one);
        await documents.remove(documentFor('other', { accountId: 'acct_2' }));
      }
      const { documents } = await reopened();
      await documents.add([documentFor('resp_2')], quota);
      await documents.remove(documentFor('resp_1'));
      await documents.add([documentFor('resp_3')], quota);
    });

    it('are not found once they have expired, and swept', async () => {
      let now = 0;
      const { store, reopened } = await freshStore(driver, { now: () => now });
      const part = documentFor('item_1', { kind: 'response_item', parent: 'resp_1' });
      const expiring = documentFor('resp_1', { expiresAt: 10 });
      await store.documents.add([expiring, documentFor('resp_2'), part]);
      now = 10;
      const query = { kind: 'response', accountId: 'acct_1', limit: 9 } as const;
      for await (const { documents } of bothOf(store, reopened)) {
        expect(await documents.find(documentFor('resp_1'))).toBeUndefined();
        expect(idsOf((await documents.list(query)).documents)).toEqual(['resp_2']);
      }
      const { documents } = await reopened();
      expect(await documents.sweep()).toBeGreaterThan(0);
      expect(await documents.sweep()).toBe(0);
      expect(await documents.usage('response', 'acct_1')).toMatchObject({ count: 1 });
      expect(await documents.usage('response_item', 'acct_1')).toMatchObject({ count: 0 });
    });

    it('are found among all accounts while work on them is left', async () => {
      const { store, reopened } = await freshStore(driver);
      const open = (id: string, accountId: string) =>
        documentFor(id, { kind: 'batch', accountId, isOpen: true });
      const [first] = await store.documents.add([open('b_1', 'acct_2')]);
      await store.documents.add([
        open('b_2', 'acct_1'),
        { ...open('b_3', 'acct_1'), isOpen: false },
      ]);
      for await (const { documents } of bothOf(store, reopened)) {
        expect(idsOf(await documents.listOpen('batch', 9)).sort()).toEqual(['b_1', 'b_2']);
        expect(await documents.listOpen('batch', 1)).toHaveLength(1);
        expect(idsOf(await documents.listOpen('batch', 9, new Set(['b_1'])))).toEqual(['b_2']);
        expect(await documents.listOpen('response', 9)).toEqual([]);
      }
      const { documents } = await reopened();
      await documents.listOpen('batch', 9);
      await documents.change(first!, { isOpen: false });
      expect(idsOf(await documents.listOpen('batch', 9))).toEqual(['b_2']);
      await documents.remove(open('b_2', 'acct_1'));
      expect(await documents.listOpen('batch', 9)).toEqual([]);
    });
  });
}
