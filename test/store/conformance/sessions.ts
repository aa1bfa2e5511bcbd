import { describe, expect, it } from 'vitest';
import { bothOf, failureWith, type OwnedOptions, ownedStore } from '../fresh-store.ts';
import { keyFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

const NOON = Date.UTC(2026, 10, 21, 12);

/** Tests of browsers' sessions for every driver. */
export function describeSessions(driver: DriverFactory): void {
  const owned = (options?: OwnedOptions) => ownedStore(driver, options);

  describe('sessions', () => {
    it('finds a session by its hash, with its key as it is now, until it ends', async () => {
      const { store, reopened, key, payer } = await owned();
      const session = await store.createSession({ ...payer, hash: 'aa', expiresAt: 9e15 });
      await store.createSession({ ...payer, hash: 'bb', expiresAt: 9e15 });
      await store.endSession('bb');
      await store.endSession('unknown');
      await store.updateKey(key.id, { rpm: 7 });
      for await (const one of bothOf(store, reopened)) {
        const found = await one.findSession('aa');
        expect(found).toEqual({ session, holder: await one.findKey(key.hash) });
        expect(found!.holder.key.rpm).toBe(7);
        expect(await one.findSession('bb')).toBeUndefined();
        expect(await one.findSession('__proto__')).toBeUndefined();
      }
    });

    it('shows that the key of a session was revoked', async () => {
      const { store, key, payer } = await owned({ now: () => NOON });
      await store.createSession({ ...payer, hash: 'aa', expiresAt: NOON + 9 });
      await store.revokeKey(key.id);
      const found = await store.findSession('aa');
      expect(found!.holder.key.revokedAt).toBe(NOON);
    });

    it('finds no session from its end on', async () => {
      let now = NOON;
      const { store, payer } = await owned({ now: () => now });
      await store.createSession({ ...payer, hash: 'aa', expiresAt: NOON + 10 });
      now = NOON + 9;
      expect(await store.findSession('aa')).toBeDefined();
      now = NOON + 10;
      expect(await store.findSession('aa')).toBeUndefined();
    });

    it('keeps the newest 50 sessions of each key', async () => {
      const { store, reopened, account, key } = await owned();
      const other = await store.createKey(keyFor(account));
      const begin = (keyId: string, hash: string) =>
        store.createSession({ accountId: account.id, keyId, hash, expiresAt: 9e15 });
      await begin(other.id, 'other');
      for (let index = 0; index < 52; index += 1) await begin(key.id, `hash-${index}`);
      for await (const one of bothOf(store, reopened)) {
        const found = [];
        for (const hash of ['hash-0', 'hash-1', 'hash-2', 'hash-51', 'other']) {
          found.push((await one.findSession(hash)) !== undefined);
        }
        expect(found).toEqual([false, false, true, true, true]);
      }
    });

    it('rejects a session of a key that does not exist', async () => {
      const { store, account } = await owned();
      const session = { accountId: account.id, keyId: 'key_x', hash: 'aa', expiresAt: 9e15 };
      await expect(store.createSession(session)).rejects.toEqual(failureWith('key_not_found', 404));
    });
  });
}
