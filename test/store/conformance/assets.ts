import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { claimOf, everyTask } from '../consistency.ts';
import { bothOf, failureWith, type OwnedOptions, ownedStore } from '../fresh-store.ts';
import { BROKEN, completionOf, newAsset, taskFor } from '../records.ts';
import type { DriverFactory } from './driver-factory.ts';

const NOON = Date.UTC(2026, 10, 21, 12);

/** Tests of assets and uploads for every driver. */
export function describeAssets(driver: DriverFactory): void {
  const owned = (options?: OwnedOptions) => ownedStore(driver, options);

  describe('assets', () => {
    it('records assets with their task and finds them by identifier', async () => {
      let now = NOON;
      const { store, reopened, key } = await owned({ now: () => now });
      const [input, mask, output] = [newAsset(), newAsset({ bytes: 0 }), newAsset()];
      const { task } = await store.createTask(taskFor(key, { assets: [input, mask] }));
      const own = { accountId: key.accountId, taskId: task.id };
      const needed = { ...own, createdAt: NOON, input: 'needed' };
      expect(await store.findAsset(input.id)).toEqual({ ...input, ...needed });
      const again = await reopened();
      expect(await again.findAsset(mask.id)).toEqual({ ...mask, ...needed });
      now += 7;
      const claim = (await again.claimTask(task.id))!;
      await again.completeTask(claim, completionOf({ assets: [output] }));
      for await (const one of bothOf(again, reopened)) {
        for (const { id } of [input, mask]) {
          expect(await one.findAsset(id)).toMatchObject({ id, input: 'spent' });
        }
        expect(await one.findAsset(output.id)).toEqual({ ...output, ...own, createdAt: NOON + 7 });
        for (const name of ['', 'x.png', '__proto__']) {
          expect(await one.findAsset(name)).toBeUndefined();
        }
      }
    });

    it('records no asset if the task is rejected, and rejects an identifier that exists', async () => {
      const { store, reopened, key } = await owned({ credits: 10 });
      const asset = newAsset();
      const poor = taskFor(key, { reservation: 11, assets: [asset] });
      await expect(store.createTask(poor)).rejects.toEqual(
        failureWith('insufficient_credits', 402),
      );
      const idempotency = { key: 'k', fingerprint: 'f' };
      const { task } = await store.createTask(taskFor(key, { reservation: 1, idempotency }));
      const same = taskFor(key, { reservation: 1, idempotency, assets: [asset] });
      expect((await store.createTask(same)).created).toBe(false);
      const completion = completionOf({ assets: [asset] });
      await expect(store.completeTask(await claimOf(store, task.id), completion)).rejects.toEqual(
        failureWith('task_state', 409),
      );
      expect(await store.findAsset(asset.id)).toBeUndefined();
      const claim = (await store.claimTask(task.id))!;
      await store.completeTask(claim, completion);
      // Identifiers are not used again.
      const taken = failureWith('asset_exists', 409);
      const again = await reopened();
      const twice = taskFor(key, { reservation: 1, assets: [newAsset(), asset] });
      await expect(again.createTask(twice)).rejects.toEqual(taken);
      await expect(again.addUpload(key.accountId, asset, 1000)).rejects.toEqual(taken);
      expect(await again.findAsset(asset.id)).toMatchObject({ taskId: task.id });
      expect(await again.findAsset(twice.assets[0]!.id)).toBeUndefined();
      expect(await everyTask(again)).toHaveLength(1);
    });

    it('stores assets without a checksum, as version 1 did', async () => {
      const { store, reopened, key } = await owned();
      const [summed, former] = [newAsset(), newAsset({ sha256: null })];
      await store.addUpload(key.accountId, summed, 1000);
      await store.addUpload(key.accountId, former, 1000);
      for await (const one of bothOf(store, reopened)) {
        expect(await one.findAsset(summed.id)).toMatchObject({ sha256: summed.sha256 });
        expect(await one.findAsset(former.id)).toMatchObject({ sha256: null });
      }
    });

    it('charges usage once with the file that has its results, and removes such files', async () => {
      const { store, reopened, key } = await owned({ credits: 1000 });
      const { accountId, id: keyId } = key;
      const usage = ['one', 'other'].map((model) => ({
        model,
        counts: { requests: 3 },
        charge: 400,
      }));
      const [asset, rest] = [newAsset(), newAsset()];
      const charged = { keyId, usage, held: [await store.reserve(accountId, keyId, 800)] };
      await store.addUpload(accountId, asset, Infinity, charged);
      const again = store.addUpload(accountId, asset, Infinity, charged);
      await expect(again).rejects.toEqual(failureWith('asset_exists', 409));
      // The account can spend 200 of it.
      await store.addUpload(accountId, rest, Infinity, {
        ...{ keyId, usage: usage.slice(0, 1), held: [] },
      });
      for await (const one of bothOf(store, reopened)) {
        expect(await one.findAccount(accountId)).toMatchObject({ spent: 1000, reserved: 0 });
        const rows = await one.listUsage(accountId, { from: '2000-01-01', to: '2999-01-01' });
        const sums = rows.map(({ model, requests, spent }) => [model, requests, spent]);
        expect(sums.sort()).toEqual([
          ['one', 6, 600],
          ['other', 3, 400],
        ]);
      }
      const last = await reopened();
      const removed = await last.removeUploads(accountId, [asset.id, 'unknown']);
      expect(removed.map(({ id }) => id)).toEqual([asset.id]);
      expect(await last.findAsset(asset.id)).toBeUndefined();
      expect(await last.findAsset(rest.id)).toBeDefined();
    });

    it('deletes assets with their task', async () => {
      const { store, reopened, key } = await owned({ now: () => NOON });
      const make = async () => {
        const assets = [newAsset(), newAsset(), newAsset()];
        const { task } = await store.createTask(taskFor(key, { assets: assets.slice(0, 2) }));
        await store.claimTask(task.id);
        return { id: task.id, assets };
      };
      const [gone, open] = [await make(), await make()];
      await store.completeTask(
        await claimOf(store, gone.id),
        completionOf({ assets: gone.assets.slice(2) }),
      );
      const upload = await store.addUpload(key.accountId, newAsset(), 1000);
      const inputs = await store.deleteInputs();
      expect(inputs.map(({ id }) => id)).toEqual(gone.assets.slice(0, 2).map(({ id }) => id));
      const deleted = await store.deleteTasks(NOON + 1);
      expect(deleted.tasks.map(({ id }) => id)).toEqual([gone.id]);
      expect(deleted.assets.map(({ id }) => id)).toEqual([gone.assets[2]!.id]);
      for await (const one of bothOf(store, reopened)) {
        for (const { id } of gone.assets) expect(await one.findAsset(id)).toBeUndefined();
        for (const { id } of open.assets.slice(0, 2)) {
          expect(await one.findAsset(id)).toMatchObject({ taskId: open.id });
        }
        expect(await one.findAsset(upload.id)).toEqual(upload);
      }
    });

    it('deletes tasks with 10 assets each, 1000 at a time', async () => {
      const { store, reopened, key } = await owned({ now: () => NOON, credits: 0 });
      const made: string[] = [];
      await Promise.all(
        Array.from({ length: 1010 }, async () => {
          const assets = Array.from({ length: 10 }, () => newAsset());
          const { task } = await store.createTask(taskFor(key, { reservation: 0 }));
          const claim = (await store.claimTask(task.id))!;
          await store.completeTask(claim, completionOf({ assets }));
          made.push(...assets.map(({ id }) => id));
        }),
      );
      const first = await store.deleteTasks(NOON + 1);
      expect(first.tasks).toHaveLength(1000);
      const rest = await store.deleteTasks(NOON + 1);
      expect(rest.tasks).toHaveLength(10);
      expect(await store.deleteTasks(NOON + 1)).toEqual({ tasks: [], assets: [] });
      const assets = [...first.assets, ...rest.assets];
      expect(new Set(assets.map(({ id }) => id))).toEqual(new Set(made));
      expect(await everyTask(await reopened())).toEqual([]);
    });
  });

  describe('inputs', () => {
    it('counts inputs towards the storage quota until they are deleted after the task', async () => {
      const { store, reopened, account, key } = await owned({ credits: 0 });
      const full = expect.objectContaining({ type: 'insufficient_quota', code: 'storage_full' });
      const make = (one: Store, ...bytes: number[]) => {
        const assets = bytes.map((size) => newAsset({ bytes: size }));
        const task = taskFor(key, { reservation: 0, storageQuota: 100, assets });
        return one.createTask(task).then(({ task: { id } }) => ({ id, assets }));
      };
      await store.addUpload(account.id, newAsset({ bytes: 30 }), 100);
      const made = [await make(store, 20, 20), await make(store, 10)];
      await expect(make(store, 11, 10)).rejects.toEqual(full);
      await expect(store.addUpload(account.id, newAsset({ bytes: 21 }), 100)).rejects.toEqual(full);
      // A task without files is accepted.
      await make(store);
      expect(await everyTask(store)).toHaveLength(3);
      await store.failTask(await claimOf(store, made[0]!.id), BROKEN);
      await store.expireTask(await claimOf(store, made[1]!.id));
      // Their files still exist, also after a crash.
      await expect(make(store, 21)).rejects.toEqual(full);
      const again = await reopened();
      await expect(make(again, 21)).rejects.toEqual(full);
      const gone = await again.deleteInputs();
      const inputs = made.flatMap(({ assets }) => assets.map(({ id }) => id));
      expect(gone.map(({ id }) => id)).toEqual(inputs);
      expect(await again.deleteInputs()).toEqual([]);
      for (const id of inputs) expect(await again.findAsset(id)).toBeUndefined();
      await make(again, 70);
      await expect(make(again, 1)).rejects.toEqual(full);
    });
  });

  describe('uploads', () => {
    it('rejects uploads above the storage quota of each account', async () => {
      const { store, reopened, account, key } = await owned();
      const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
      const add = (one: Store, bytes: number, most = 100, id = account.id) =>
        one.addUpload(id, newAsset({ bytes }), most);
      const full = expect.objectContaining({ type: 'insufficient_quota', code: 'storage_full' });
      const upload = await add(store, 60);
      expect(upload).toMatchObject({ accountId: account.id, taskId: null, bytes: 60 });
      await expect(add(store, 41)).rejects.toEqual(full);
      const both = await Promise.allSettled([add(store, 30), add(store, 30)]);
      expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      // Results do not count.
      const { task } = await store.createTask(taskFor(key));
      const claim = (await store.claimTask(task.id))!;
      const assets = [newAsset({ bytes: 1000 })];
      await store.completeTask(claim, completionOf({ assets }));
      await add(store, 100, 100, other.id);
      const again = await reopened();
      await expect(add(again, 11)).rejects.toEqual(full);
      await add(again, 10);
      await add(again, 0);
      await expect(add(again, 1)).rejects.toEqual(full);
      await add(again, 1, 101);
      expect(await again.findAsset(upload.id)).toEqual(upload);
      await expect(add(again, 1, 100, 'acct_x')).rejects.toEqual(
        failureWith('account_not_found', 404),
      );
    });

    it('deletes uploads created before a time and frees their quota', async () => {
      let now = NOON;
      const { store, reopened, account, key } = await owned({ now: () => now });
      const add = (bytes: number) => store.addUpload(account.id, newAsset({ bytes }), 100);
      const early = await add(40);
      now += 1;
      const late = await add(50);
      now -= 1;
      const setBack = await add(10);
      const input = newAsset({ bytes: 0 });
      await store.createTask(taskFor(key, { assets: [input] }));
      expect(await store.deleteUploads(NOON)).toEqual([]);
      expect(await store.deleteUploads(NOON + 1)).toEqual([early, setBack]);
      expect(await store.deleteUploads(NOON + 1)).toEqual([]);
      await add(50);
      for await (const one of bothOf(store, reopened)) {
        expect(await one.findAsset(early.id)).toBeUndefined();
        expect(await one.findAsset(late.id)).toEqual(late);
        expect(await one.findAsset(input.id)).toBeDefined();
      }
    });
  });
}
