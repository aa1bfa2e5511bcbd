// Uses a store until the process is killed, and prints each change once it is acknowledged.
import { randomBytes } from 'node:crypto';
import { writeSync } from 'node:fs';
import { openLowdbStore } from '../../.modules/src/store/drivers/lowdb/open.js';

const [directory] = process.argv.slice(2);
// Short journals, so that many of the kills happen during a checkpoint.
const store = await openLowdbStore({ directory, journalLimit: 30_000 });
const say = (line) => writeSync(1, `${line}\n`);

const account =
  (await store.findAccount('owner')) ??
  (await store.createAccount({ name: 'owner', plan: 'paid', credits: 1_000_000 }));
const hash = process.pid.toString(16).padStart(64, '0');
const key = await store.createKey({
  accountId: account.id,
  name: 'writer',
  hash,
  hint: '…',
  expiresAt: null,
  models: null,
  rpm: null,
  budget: null,
  // It counts all charges of the key, because it is there from the start.
  windows: { timeZone: 'UTC', month: 1_000_000 },
});
say(`key ${hash}`);

const holder = { accountId: account.id, keyId: key.id };
const task = {
  ...holder,
  type: 'image',
  model: 'some-image-model',
  request: { prompt: 'a harbour at dawn' },
  deadline: 4_000_000_000_000,
  idempotency: null,
  storageQuota: Infinity,
};

const newAsset = () => ({
  id: `${randomBytes(32).toString('base64url')}.png`,
  mediaType: 'image/png',
  bytes: 5,
});

async function work(worker) {
  for (let turn = worker; ; turn += 1) {
    const assets = [newAsset()];
    const callbackUrl = turn % 2 === 0 ? 'https://example.com/callback' : null;
    const reservation = turn % 5;
    const { id } = (
      await store.createTask({ ...task, reservation, maxOpenTasks: 1_000_000, assets, callbackUrl })
    ).task;
    say(`made ${id}`);
    if (turn % 4 === 0) {
      say(`asset ${assets[0].id}`);
      continue;
    }
    const claim = await store.claimTask(id);
    await store.saveProgress(claim, { turn });
    if (turn % 4 === 1) {
      await store.failTask(claim, { type: 'timeout', message: 'x', code: null });
      say(`failed ${id}`);
    } else {
      const results = [newAsset()];
      const completion = { result: { turn }, charge: turn % 3, counts: {}, assets: results };
      await store.completeTask(claim, completion);
      say(`asset ${results[0].id}`);
      say(`completed ${id}`);
    }
    const [delivery] = (await store.listDeliveries(account.id, id)) ?? [];
    if (delivery) {
      const attempt = { at: 1, status: 204, error: null, milliseconds: 1 };
      await store.recordAttempt(delivery, attempt, { status: 'delivered' });
      say(`delivered ${id}`);
    }
    const hold = await store.reserve(account.id, key.id, 2);
    await store.settle(hold, { model: 'm', counts: { outputTokens: 1 }, charge: 1 });
    say('settled 1');
    if (turn % 10 === 0) {
      await store.deleteInputs();
      const upload = newAsset();
      await store.addUpload(account.id, upload, Infinity);
      say(`asset ${upload.id}`);
      await store.grant(account.id, 3);
      say('granted 3');
    }
  }
}

await Promise.all(Array.from({ length: 16 }, (_, worker) => work(worker)));
