import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { gate } from '../../gate.ts';
import { temporaryFolder } from '../../oriel.ts';
import { everyTask, findInconsistencies, pendingDeliveries } from '../consistency.ts';
import { type Hook, hookedFiles, systemError } from '../hooked-files.ts';
import { completionOf, newAsset, owner, taskFor } from '../records.ts';
import { copyAsCrashed } from './crash-copy.ts';
import { openCrashed, openHooked } from './test-store.ts';

const unavailable = expect.objectContaining({
  name: 'Failure',
  type: 'service_error',
  status: 503,
  code: 'store_unavailable',
});

/** A store on a disk whose operations call `disk.hook`, with an account of 100 micro-credits. */
async function onDisk() {
  const opened = await openHooked();
  return { ...opened, ...(await owner(opened.store, 100)) };
}

function failing(operation: string, code = 'ENOSPC'): Hook {
  return (name) => {
    if (name === operation) throw systemError(code);
  };
}

describe('a store on a failing disk', () => {
  it.each(['ENOSPC', 'EIO'])(
    'rejects calls with store_unavailable on %s, and works again afterwards',
    async (code) => {
      const { directory, disk, store, key, account } = await onDisk();
      const kept = (await store.createTask(taskFor(key, { reservation: 10 }))).task;
      disk.hook = failing('write', code);
      const tries = await Promise.allSettled([
        store.createTask(taskFor(key, { reservation: 20 })),
        store.claimTask(kept.id),
        store.grant(account.id, 5),
        store.createAccount({ name: 'late', plan: 'free', credits: 1 }),
        store.revokeKey(key.id),
      ]);
      for (const tried of tries) expect(tried).toEqual({ status: 'rejected', reason: unavailable });
      expect(await store.findTask(account.id, kept.id)).toEqual(kept);
      expect(await store.findAccount('late')).toBeUndefined();
      expect(await store.findAccount(account.id)).toMatchObject({ granted: 100, reserved: 10 });
      expect((await store.findKey(key.hash))!.key.revokedAt).toBeNull();
      expect(await findInconsistencies(store)).toEqual([]);

      disk.hook = () => {};
      await store.grant(account.id, 7);
      expect(await store.claimTask(kept.id)).toMatchObject({ attempts: 1 });
      expect(await store.createAccount({ name: 'late', plan: 'free', credits: 1 })).toBeDefined();
      expect(await findInconsistencies(store)).toEqual([]);
      const copy = await openCrashed(directory);
      expect(await copy.findAccount(account.id)).toMatchObject({ granted: 107, reserved: 10 });
      expect(await findInconsistencies(copy)).toEqual([]);
    },
  );

  it('reverts uploads, progress and deliveries that were not written', async () => {
    const { disk, store, key, account } = await onDisk();
    const callbackUrl = 'https://example.com/callback';
    const [input, output] = [newAsset(), newAsset()];
    const { task } = await store.createTask(taskFor(key, { callbackUrl, reservation: 1 }));
    const claim = (await store.claimTask(task.id))!;
    disk.hook = failing('write');
    const tries = await Promise.allSettled([
      store.addUpload(account.id, newAsset({ bytes: 60 }), 100),
      store.createTask(taskFor(key, { reservation: 1, assets: [input] })),
      store.saveProgress(claim, { job: 1 }),
      store.completeTask(claim, completionOf({ assets: [output] })),
    ]);
    for (const tried of tries) expect(tried).toEqual({ status: 'rejected', reason: unavailable });
    disk.hook = () => {};
    expect(await store.findTask(account.id, task.id)).toMatchObject({
      status: 'processing',
      progress: null,
    });
    expect(await pendingDeliveries(store)).toEqual([]);
    for (const { id } of [input, output]) expect(await store.findAsset(id)).toBeUndefined();
    await store.addUpload(account.id, newAsset({ bytes: 60 }), 100);
    await store.completeTask(claim, completionOf({ assets: [output] }));
    const [delivery] = await pendingDeliveries(store);

    disk.hook = failing('write');
    const attempt = { at: 1, status: 204, error: null, milliseconds: 1 };
    const tried = store.recordAttempt(delivery!, attempt, { status: 'delivered' });
    await expect(tried).rejects.toEqual(unavailable);
    await expect(store.deleteUploads(Infinity)).rejects.toEqual(unavailable);
    disk.hook = () => {};
    expect(await pendingDeliveries(store)).toEqual([delivery]);
    const full = store.addUpload(account.id, newAsset({ bytes: 60 }), 100);
    await expect(full).rejects.toMatchObject({ code: 'storage_full' });
    expect(await findInconsistencies(store)).toEqual([]);
  });

  it('rejects changes that depend on a failed write, and accepts later ones', async () => {
    const { disk, store, key, account } = await onDisk();
    const go = gate();
    const reached = gate();
    disk.hook = async (operation) => {
      if (operation !== 'write') return;
      reached.open();
      await go.passed;
      disk.hook = () => {};
      throw systemError('ENOSPC');
    };
    const first = store.createTask(taskFor(key, { reservation: 60 }));
    await reached.passed;
    const behind = store.grant(account.id, 11);
    // The reservation of the first call counts although it is not on disk yet.
    await expect(store.createTask(taskFor(key, { reservation: 60 }))).rejects.toMatchObject({
      code: 'insufficient_credits',
    });
    go.open();
    await expect(first).rejects.toEqual(unavailable);
    await expect(behind).rejects.toEqual(unavailable);
    await store.createTask(taskFor(key, { reservation: 60 }));
    expect(await store.findAccount(account.id)).toMatchObject({ granted: 100, reserved: 60 });
    expect(await findInconsistencies(store)).toEqual([]);
  });

  it('truncates a batch that was written in part', async () => {
    const { directory, disk, store, key, account } = await onDisk();
    const { task } = await store.createTask(taskFor(key, { reservation: 1 }));
    // The disk is full after the first part of the write.
    disk.hook = (operation) => {
      if (operation !== 'write') return;
      appendFileSync(join(directory, 'journal', '00000001.journal'), '01234567 00000100 [["acc');
      throw systemError('ENOSPC');
    };
    await expect(store.grant(account.id, 5)).rejects.toEqual(unavailable);
    disk.hook = () => {};
    await store.grant(account.id, 6);
    const recoveries: unknown[] = [];
    const copy = await openLowdbStore({
      directory: copyAsCrashed(directory),
      onRecovery: (recovery) => recoveries.push(recovery),
    });
    expect(recoveries).toEqual([]);
    expect((await everyTask(copy)).map(({ id }) => id)).toEqual([task.id]);
    expect(await copy.findAccount(account.id)).toMatchObject({ granted: 106 });
    await copy.close();
  });

  it('starts a new journal when the failed write cannot be truncated', async () => {
    const { directory, disk, store, key, account } = await onDisk();
    const healthy = store.health();
    expect(healthy).toMatchObject({ fault: null, journal: { checkpointFault: null, journals: 1 } });
    disk.hook = (operation) => {
      if (['write', 'truncate', 'open'].includes(operation)) throw systemError('EIO');
    };
    for (let time = 0; time < 2; time += 1) {
      await expect(store.grant(account.id, 5)).rejects.toEqual(unavailable);
      expect(store.health().fault).toBe('the store cannot write: EIO: no');
    }
    disk.hook = () => {};
    expect(await store.grant(account.id, 6)).toMatchObject({ granted: 106 });
    expect(await store.createTask(taskFor(key, { reservation: 1 }))).toMatchObject({
      created: true,
    });
    expect(store.health()).toMatchObject({ fault: null, journal: { journals: 2 } });
    const copy = await openCrashed(directory);
    expect(await copy.findAccount(account.id)).toMatchObject({ granted: 106, reserved: 1 });
    expect(await findInconsistencies(copy)).toEqual([]);
  });

  it('retries by itself, and reports failure and recovery once', async () => {
    const reported: (string | null)[] = [];
    const recovered = gate();
    const { disk, store } = await openHooked({
      onFailure: (failure) => {
        reported.push(failure?.code ?? null);
        if (!failure) recovered.open();
      },
    });
    const { account } = await owner(store, 100);
    disk.hook = failing('write');
    for (let time = 0; time < 3; time += 1) {
      await expect(store.grant(account.id, 5)).rejects.toEqual(unavailable);
    }
    disk.hook = () => {};
    await recovered.passed;
    expect(reported).toEqual(['store_unavailable', null]);
    expect(store.health().fault).toBeNull();
    await store.close();
  });

  it.each(['truncate', 'nothing'])(
    'does not replay a rejected task whose bytes are in the file, when %s fails too',
    async (also) => {
      const { directory, disk, store, key, account, payer: holder } = await onDisk();
      // A charge that is not synced yet, so that the next batch is written and synced in two steps.
      await store.settle(holder, { model: 'm', counts: {}, charge: 3 });
      disk.hook = (operation) => {
        if (operation === 'datasync' || operation === also) throw systemError('EIO');
      };
      const idempotency = { key: 'once', fingerprint: 'f' };
      const refused = taskFor(key, { reservation: 7, idempotency });
      await expect(store.createTask(refused)).rejects.toEqual(unavailable);
      const journal = readFileSync(join(directory, 'journal', '00000001.journal'), 'utf8');
      expect(journal.includes('"once"')).toBe(also === 'truncate');
      disk.hook = () => {};
      await store.grant(account.id, 1);
      for (const place of [copyAsCrashed(directory), directory]) {
        if (place === directory) await store.close();
        const again = await openLowdbStore({ directory: place });
        expect(await everyTask(again)).toEqual([]);
        expect(await again.findAccount(account.id)).toMatchObject({
          granted: 101,
          reserved: 0,
          spent: 3,
        });
        expect(await findInconsistencies(again)).toEqual([]);
        expect(await again.createTask(refused)).toMatchObject({ created: true });
        await again.close();
      }
    },
  );

  it.each([['writeSync'], ['writeSync', 'write', 'open', 'truncate']])(
    'keeps charges in memory and rejects reservations while %s fails',
    async (...operations) => {
      const { directory, disk, store, key, account, payer: holder } = await onDisk();
      const held = await store.reserve(account.id, key.id, 40);
      disk.hook = (operation) => {
        if (operations.includes(operation)) throw systemError('ENOSPC');
      };
      // Requests that were in progress when the failure began.
      const metered = { model: 'm', counts: { outputTokens: 1 }, charge: 30 };
      expect(await store.settle(held, metered)).toBe(30);
      expect(await store.settle(holder, metered)).toBe(30);
      expect(store.health()).toMatchObject({ fault: expect.any(String), pendingCharges: 2 });
      // New requests are rejected before they cost credits; free ones are not.
      await expect(store.reserve(account.id, key.id, 1)).rejects.toEqual(unavailable);
      await store.release(await store.reserve(account.id, key.id, 0));
      const { account: known } = (await store.findKey(key.hash))!;
      expect(known).toMatchObject({ reserved: 60, spent: 0 });
      expect(await store.findAccount(account.id)).toMatchObject({ reserved: 60, spent: 0 });

      disk.hook = () => {};
      await store.grant(account.id, 1);
      await expect(store.reserve(account.id, key.id, 42)).rejects.toMatchObject({
        code: 'insufficient_credits',
      });
      await store.reserve(account.id, key.id, 41);
      const copy = await openCrashed(directory);
      expect(await copy.findAccount(account.id)).toMatchObject({ granted: 101, spent: 60 });
      expect(await findInconsistencies(copy)).toEqual([]);
      expect(await store.findAccount(account.id)).toMatchObject({ spent: 60, reserved: 41 });
      expect(store.health()).toMatchObject({ fault: null, pendingCharges: 0 });
    },
  );

  it('reports charges that it could not write when it is closed', async () => {
    const { disk, faults, store } = await openHooked();
    const { account, key } = await owner(store, 10);
    disk.hook = (operation) => {
      if (operation !== 'unlink') throw systemError('EIO');
    };
    const metered = { model: 'm', counts: {}, charge: 1 };
    await store.settle({ accountId: account.id, keyId: key.id }, metered);
    await store.close();
    expect(String(faults)).toContain('the charges of 1 requests could not be written');
  });

  it('rejects new work while failed checkpoints leave too many journals', async () => {
    const { directory, disk, faults, store } = await openHooked({
      journalLimit: 3000,
      backlogLimit: 60_000,
    });
    const { account, key } = await owner(store, 10_000);
    disk.hook = (operation, path) => {
      if (operation === 'writeFile' && path.includes('shards')) throw systemError('ENOSPC');
    };
    const { task } = await store.createTask(taskFor(key, { reservation: 1 }));
    const refusals: unknown[] = [];
    for (let n = 0; n < 400 && refusals.length === 0; n += 1) {
      await store
        .createTask(taskFor(key, { reservation: 1 }))
        .catch((error: unknown) => refusals.push(error));
    }
    expect(refusals).toEqual([unavailable]);
    expect(String(faults[0])).toMatch(
      /^Error: checkpoint failed: ENOSPC: no; \d+ journals with \d+ bytes wait for it; retrying within 1 s$/,
    );
    const { fault, journal } = store.health();
    const { checkpointFault, bytes, journals } = journal!;
    expect([fault, checkpointFault]).toEqual(Array(2).fill('checkpoint failed: ENOSPC: no'));
    expect(bytes).toBeGreaterThan(60_000);
    expect(journals).toBe(readdirSync(join(directory, 'journal')).length);
    await expect(store.reserve(account.id, key.id, 1)).rejects.toEqual(unavailable);
    await expect(store.addUpload(account.id, newAsset(), 1000)).rejects.toEqual(unavailable);
    // Tasks in progress can still end.
    const claim = (await store.claimTask(task.id))!;
    await store.completeTask(claim, completionOf({ charge: 1 }));

    disk.hook = () => {};
    // The next attempt is made without a call.
    while (store.health().journal!.checkpointFault !== null) await setImmediate();
    expect(store.health()).toMatchObject({ fault: null, journal: { journals: 1 } });
    await store.reserve(account.id, key.id, 1);
    await store.close();
    expect(readdirSync(join(directory, 'journal'))).toHaveLength(1);
  });

  it('cannot be opened when the disk rejects its files', async () => {
    const directory = temporaryFolder();
    const opened = openLowdbStore({ directory, files: hookedFiles(failing('open', 'EACCES')) });
    await expect(opened).rejects.toEqual(unavailable);
  });
});

describe('a store on a slow disk', () => {
  const callbackUrl = 'https://example.com/callback';
  type Stopped = Awaited<ReturnType<typeof stopped>>;

  /** A store with a task and an upload, whose next write waits for `go`. */
  async function stopped() {
    const made = await onDisk();
    const { task } = await made.store.createTask(
      taskFor(made.key, { reservation: 0, callbackUrl }),
    );
    const upload = await made.store.addUpload(made.account.id, newAsset(), 1000);
    const go = gate();
    const reached = gate();
    made.disk.hook = async (operation) => {
      if (operation !== 'write') return;
      reached.open();
      await go.passed;
    };
    return { ...made, task, upload, go, reached };
  }

  /** Whether a promise is still pending after everything that was ready has run. */
  async function isPending(promise: Promise<unknown>): Promise<boolean> {
    let pending = true;
    promise.then(
      () => {
        pending = false;
      },
      () => {},
    );
    for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    return pending;
  }

  it.each<{
    what: string;
    change: (made: Stopped) => Promise<unknown>;
    reads: ((made: Stopped) => Promise<unknown>)[];
    after: unknown;
  }>([
    {
      what: 'an account',
      change: ({ store, account }) => store.grant(account.id, 5),
      reads: [
        ({ store, account }) => store.findAccount(account.id),
        async ({ store }) => (await store.listAccounts())[0],
      ],
      after: { granted: 105 },
    },
    {
      what: 'an entry of the ledger',
      change: ({ store, account }) => store.grant(account.id, 5),
      reads: [async ({ store, account }) => (await store.listLedger(account.id, { limit: 1 }))[0]],
      after: { amount: 5 },
    },
    {
      what: 'a delivery',
      change: ({ store, task }) => store.expireTask(task),
      reads: [
        async ({ store }) => (await pendingDeliveries(store))[0],
        async ({ store, task }) => (await store.listDeliveries(task.accountId, task.id))![0],
      ],
      after: { status: 'pending', url: callbackUrl },
    },
  ])('returns $what only after it is on disk', async ({ change, reads, after }) => {
    const made = await stopped();
    const changed = change(made);
    await made.reached.passed;
    const read = reads.map((one) => one(made));
    for (const one of [changed, ...read]) expect(await isPending(one)).toBe(true);
    made.go.open();
    for (const one of read) expect(await one).toMatchObject(after as object);
  });

  it('finds assets and tasks on disk without waiting for a write of other records', async () => {
    const { store, account, key, task, upload, go, reached } = await stopped();
    const [input, late] = [newAsset(), newAsset()];
    const made = store.createTask(taskFor(key, { reservation: 1, assets: [input] }));
    await reached.passed;
    const added = store.addUpload(account.id, late, 1000);
    expect(await store.findTask(account.id, task.id)).toEqual(task);
    expect(await store.findAsset(upload.id)).toEqual(upload);
    // Assets that are not on disk yet are not found.
    for (const { id } of [input, late]) expect(await store.findAsset(id)).toBeUndefined();
    go.open();
    expect(await made).toMatchObject({ created: true });
    expect(await store.findAsset(input.id)).toMatchObject(input);
    const recorded = await added;
    expect(await store.findAsset(late.id)).toEqual(recorded);
  });

  it('returns keys as they were last on disk, without waiting', async () => {
    const { store, account, key, go, reached } = await stopped();
    const granted = store.grant(account.id, 5);
    const revoked = store.revokeKey(key.id);
    await reached.passed;
    expect(await store.findKey(key.hash)).toEqual({ key, account });
    go.open();
    await Promise.all([granted, revoked]);
    const after = await store.findKey(key.hash);
    expect(after!.key.revokedAt).not.toBeNull();
    expect(after!.account.granted).toBe(105);
  });

  it('returns a charge as reserved until it is booked on disk', async () => {
    const { store, account, key, go, reached, payer: holder } = await stopped();
    await store.settle(holder, { model: 'm', counts: {}, charge: 3 });
    const known = () => store.findKey(key.hash);
    expect((await known())!.account).toMatchObject({ reserved: 3, spent: 0 });
    const found = store.findAccount(account.id);
    await reached.passed;
    expect(await known()).toMatchObject({
      account: { reserved: 3, spent: 0 },
      key: { reserved: 3, spent: 0 },
    });
    go.open();
    expect(await found).toMatchObject({ reserved: 0, spent: 3 });
    expect((await known())!.account).toMatchObject({ reserved: 0, spent: 3 });
  });

  it('returns the task of a repeated request only after it is on disk', async () => {
    const { store, key, go, reached } = await stopped();
    const idempotency = { key: 'k', fingerprint: 'f' };
    const task = taskFor(key, { reservation: 1, idempotency });
    const first = store.createTask(task);
    await reached.passed;
    const second = store.createTask(task);
    expect(await isPending(second)).toBe(true);
    go.open();
    expect(await second).toEqual({ created: false, task: (await first).task });
  });

  it('resolves settle after the write in progress and the write of the charge', async () => {
    const { directory, store, account, go, reached, payer: holder } = await stopped();
    const granted = store.grant(account.id, 5);
    await reached.passed;
    const settled = store.settle(holder, { model: 'm', counts: {}, charge: 3 });
    expect(await isPending(settled)).toBe(true);
    go.open();
    expect(await settled).toBe(3);
    const copy = await openCrashed(directory);
    expect(await copy.findAccount(account.id)).toMatchObject({ granted: 105, spent: 3 });
    await granted;
  });

  it('resolves settle without a sync', async () => {
    const { directory, disk, store, account, payer: holder } = await onDisk();
    const operations: string[] = [];
    disk.hook = (operation) => {
      operations.push(operation);
    };
    const metered = { model: 'm', counts: {}, charge: 3 };
    await Promise.all([store.settle(holder, metered), store.settle(holder, metered)]);
    expect(operations).toEqual(['writeSync']);
    const copy = await openCrashed(directory);
    expect(await copy.findAccount(account.id)).toMatchObject({ spent: 6 });
    // Reading the account books the charge and waits for the sync.
    expect(await store.findAccount(account.id)).toMatchObject({ spent: 6 });
    expect(operations).toEqual(['writeSync', 'write', 'datasync']);
  });
});
