import { describe, expect, it } from 'vitest';
import type { ConfigEntry } from '../../../src/store/config-entry.ts';
import {
  addEntry,
  changeEntry,
  removeEntry,
} from '../../../src/store/operations/config-entries.ts';
import type { Store } from '../../../src/store/store.ts';
import { bothOf, failureWith, freshStore } from '../fresh-store.ts';
import type { DriverFactory } from './driver-factory.ts';

const entryOf = (kind: ConfigEntry['kind'], name: string, provider?: string): ConfigEntry => ({
  ...{ id: `${kind} ${name} ${provider}`, kind, name, hint: '\u0000…wxyz', secrets: null },
  settings: provider === undefined ? { kind: 'sandbox' } : { routes: [{ provider, model: 'm' }] },
  ...{ createdAt: 1, changedAt: 1 },
});

const add = (store: Store, entry: ConfigEntry) =>
  store.changeConfigEntry(entry.kind, entry.name, addEntry(entry));

const raise = (store: Store, name: string) => {
  const next = (entry: ConfigEntry) => ({ ...entry, changedAt: entry.changedAt + 1 });
  return store.changeConfigEntry('provider', name, changeEntry('provider', name, next));
};

const remove = (store: Store, kind: ConfigEntry['kind'], name: string) =>
  store.changeConfigEntry(kind, name, removeEntry(kind, name));

/** Tests of providers and models in the store for every driver. */
export function describeConfigEntries(driver: DriverFactory): void {
  describe('providers and models', () => {
    it('are kept in the order of creation, changed and removed', async () => {
      const { store, reopened } = await freshStore(driver);
      const [one, two] = [entryOf('provider', 'one'), entryOf('provider', 'two')];
      const model = entryOf('model', 'one', 'two');
      for (const entry of [one, two, model]) expect(await add(store, entry)).toEqual(entry);
      expect(await raise(store, 'one')).toEqual({ ...one, changedAt: 2 });
      expect(await remove(store, 'model', 'one')).toEqual(model);
      for await (const each of bothOf(store, reopened)) {
        expect(await each.listConfigEntries()).toEqual([{ ...one, changedAt: 2 }, two]);
      }
    });

    it('of the same name, of no name and in use are refused', async () => {
      const { store, reopened } = await freshStore(driver);
      await add(store, entryOf('provider', 'one'));
      await add(store, entryOf('model', 'm', 'one'));
      // A transaction whose answer was lost runs again.
      await add(store, entryOf('provider', 'one'));
      const again = { ...entryOf('provider', 'one'), id: 'other' };
      await expect(add(store, again)).rejects.toEqual(failureWith('provider_exists', 409));
      await expect(raise(store, '__proto__')).rejects.toEqual(
        failureWith('provider_not_found', 404),
      );
      await expect(remove(store, 'provider', 'one')).rejects.toMatchObject({
        ...{ code: 'provider_in_use', status: 409 },
        message: expect.stringContaining('the models m;'),
      });
      const huge = { ...entryOf('model', 'big', 'one'), settings: { name: 'x'.repeat(64_000) } };
      expect(() => addEntry(huge)).toThrow('at most 64000 characters');
      expect(await (await reopened()).listConfigEntries()).toHaveLength(2);
    });

    it('lose no concurrent change, and no provider while a model gets a route to it', async () => {
      const { store } = await freshStore(driver);
      await add(store, entryOf('provider', 'one'));
      await Promise.all(Array.from({ length: 20 }, () => raise(store, 'one')));
      expect(await store.listConfigEntries()).toMatchObject([{ changedAt: 21 }]);
      const route = (entries: readonly ConfigEntry[]) => {
        if (!entries.some(({ kind }) => kind === 'provider')) throw new Error('no provider');
        return entryOf('model', 'm', 'one');
      };
      const ends = await Promise.allSettled([
        store.changeConfigEntry('model', 'm', route),
        remove(store, 'provider', 'one'),
      ]);
      expect(ends.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    });

    it.runIf(driver.openAnother)('are announced to other nodes', async () => {
      const { store, place } = await freshStore(driver);
      const other = await driver.openAnother!(place);
      try {
        const heard = new Promise((resolve) => {
          other.watch((event) => event.kind === 'config' && resolve(other.listConfigEntries()));
        });
        const entry = await add(store, entryOf('provider', 'one'));
        expect(await heard).toEqual([entry]);
      } finally {
        await other.close();
      }
    });
  });
}
