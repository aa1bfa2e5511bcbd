import { describe, expect, it } from 'vitest';
import type { ConfigEntry } from '../../../src/store/config-entry.ts';
import { checkIntegrity } from '../../../src/store/integrity.ts';
import type { Store } from '../../../src/store/store.ts';
import type { TransferRecord } from '../../../src/store/transfer.ts';
import { findInconsistencies } from '../consistency.ts';
import { failureWith, freshStore } from '../fresh-store.ts';
import { BROKEN, CREDIT, completionOf, keyFor, newAsset, owner, taskFor } from '../records.ts';
import { documentFor } from './documents.ts';
import type { DriverFactory } from './driver-factory.ts';

export function describeTransfer(driver: DriverFactory): void {
  describe('a copy of a store', () => {
    it('has every record, in the same order and with the same sums', async () => {
      const { store, reopened } = await freshStore(driver);
      await fill(store);
      const source = await reopened();
      const before = await everyRecord(source);
      const copy = await freshStore(driver);
      await copy.store.transfer.write(source.transfer.read());
      const target = await copy.reopened();
      expect(await everyRecord(target)).toEqual(before);
      expect(await findInconsistencies(target)).toEqual([]);
      expect(await checkIntegrity(target.transfer.read())).toMatchObject({
        accounts: 2,
        keys: 3,
        tasks: 42,
        faults: [],
      });
      const accountId = (await target.listAccounts())[0]!.id;
      const [newest] = await target.listTasks({ accountId }, { limit: 1 });
      const expected = await source.listTasks({ accountId }, { limit: 1 });
      expect(newest).toEqual(expected[0]);
      // New records come after the copied ones.
      await target.grant(accountId, CREDIT);
      const [entry] = await target.listLedger(accountId, { limit: 1 });
      expect(entry).toMatchObject({ type: 'grant', amount: CREDIT });
    });

    it('is refused into a store that has records', async () => {
      const [one, other] = [await freshStore(driver), await freshStore(driver)];
      await owner(one.store);
      await addProvider(other.store);
      await expect(other.store.transfer.write(one.store.transfer.read())).rejects.toEqual(
        failureWith('store_not_empty', 409),
      );
    });
  });

  describe('the check of a store', () => {
    it('finds no fault while requests are in progress', async () => {
      const { store } = await freshStore(driver);
      const { account, key } = await owner(store);
      await store.createTask(taskFor(key));
      const reservation = await store.reserve(account.id, key.id, CREDIT);
      expect((await checkIntegrity(store.transfer.read())).faults).toEqual([]);
      await store.settle(reservation, { model: 'm', counts: {}, charge: 7 });
      expect(await checkIntegrity(store.transfer.read())).toMatchObject({ spent: 7, faults: [] });
    });

    it('names sums that differ from their records', async () => {
      const { store } = await freshStore(driver);
      await fill(store);
      const changed = async function* (): AsyncGenerator<TransferRecord> {
        for await (const record of store.transfer.read()) {
          if (record.kind !== 'account' || record.row.name !== 'owner') yield record;
          else yield { ...record, row: { ...record.row, spent: record.row.spent + 1 } };
        }
      };
      const { faults } = await checkIntegrity(changed());
      expect(faults).toHaveLength(2);
      expect(faults[0]).toMatch(/^account acct_\w+: spent by its keys: /);
      expect(faults[1]).toMatch(/^account acct_\w+: available by its ledger: /);
    });
  });
}

/** Tasks in all states with files and callbacks, charges, budgets and teams. */
async function fill(store: Store): Promise<void> {
  const { account, key } = await owner(store, 1000 * CREDIT);
  const second = await store.createAccount({ name: 'second', plan: 'free', credits: 9 * CREDIT });
  const team = await store.createTeam({
    accountId: account.id,
    name: 'press',
    budget: 50 * CREDIT,
    windows: { timeZone: 'Europe/Berlin', day: 20 * CREDIT },
  });
  const member = await store.createKey(keyFor(account, { name: 'member', teamId: team.id }));
  const other = await store.createKey(keyFor(second));
  for (let index = 0; index < 42; index += 1) {
    const holder = [key, member, other][index % 3]!;
    const { task } = await store.createTask(
      taskFor(holder, {
        reservation: CREDIT / 10,
        callbackUrl: index % 4 === 0 ? 'https://example.com/hook' : null,
        idempotency: index % 5 === 0 ? { key: `${index}`, fingerprint: 'f' } : null,
        assets: index % 6 === 0 ? [newAsset()] : [],
        ...(index % 8 === 0 && { tags: `run=${index % 3}` }),
        request: { prompt: `\u0000 number ${index} \ud83d` },
      }),
    );
    if (index % 7 === 6) continue;
    const claim = (await store.claimTask(task.id))!;
    if (index % 7 === 5) await store.saveProgress(claim, { step: index });
    else if (index % 7 === 4) await store.failTask(claim, BROKEN);
    else await store.completeTask(claim, completionOf({ charge: index, assets: [newAsset()] }));
  }
  await store.addUpload(account.id, newAsset(), 1000);
  for (const holder of [key, member, other]) {
    const payer = { accountId: holder.accountId, keyId: holder.id };
    const metered = { model: 'text', counts: { inputTokens: 3 }, charge: 5 };
    await store.settle(payer, metered);
    await store.settle(payer, { ...metered, tags: 'run=1,step=a' });
  }
  await store.revokeKey(other.id);
  for (const id of ['resp_1', 'a/b']) {
    const { id: accountId } = account;
    await store.documents.add([documentFor(id, { accountId, parent: 'p', expiresAt: 4e12 })]);
    await store.documents.add([documentFor(id, { accountId: second.id, isOpen: true })]);
  }
  await addProvider(store);
}

async function addProvider(store: Store): Promise<void> {
  const secrets = { keyId: 'k', data: 'ciphertext' };
  const named = { id: 'cfg_1', name: 'one', settings: {}, secrets, hint: null };
  const entry: ConfigEntry = { ...named, kind: 'provider', createdAt: 1, changedAt: 1 };
  await store.changeConfigEntry('provider', 'one', () => entry);
}

/** Records by kind. */
async function everyRecord(store: Store): Promise<Record<string, unknown[]>> {
  const records: Record<string, unknown[]> = {};
  for await (const { kind, ...record } of store.transfer.read()) {
    records[kind] = [...(records[kind] ?? []), record];
  }
  return records;
}
