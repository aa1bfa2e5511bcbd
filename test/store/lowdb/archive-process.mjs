// Ends tasks in a store, and prints their cost: memory, and the rows that a start has to read.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openLowdbStore } from '../../.modules/src/store/drivers/lowdb/open.js';

const [directory, count, characters, journalLimit] = process.argv
  .slice(2)
  .map((text, at) => (at === 0 ? text : Number(text)));
const store = await openLowdbStore({ directory, journalLimit });
const [account] = await store.listAccounts();
const owner = account ?? (await store.createAccount({ name: 'a', plan: 'free', credits: 0 }));
const key =
  (await store.listKeys())[0] ??
  (await store.createKey({
    accountId: owner.id,
    name: 'k',
    hash: 'a'.repeat(64),
    hint: '…',
    expiresAt: null,
    models: null,
    rpm: null,
    budget: null,
  }));

let left = count;
async function work() {
  while (left > 0) {
    left -= 1;
    const { task } = await store.createTask({
      accountId: owner.id,
      keyId: key.id,
      type: 'image',
      model: 'm',
      // A different text each time: V8 shares the characters of equal strings.
      request: { prompt: `${left} `.padEnd(characters, `${left} long prompt `) },
      deadline: 4_000_000_000_000,
      callbackUrl: null,
      idempotency: { key: `key-${left}`, fingerprint: 'f' },
      reservation: 0,
      maxOpenTasks: Infinity,
      assets: [],
      storageQuota: 0,
    });
    const claim = await store.claimTask(task.id);
    await store.completeTask(claim, { result: {}, charge: 0, counts: {}, assets: [] });
  }
}
await Promise.all(Array.from({ length: 32 }, work));
globalThis.gc?.();
const { heapUsed } = process.memoryUsage();
const { completed } = (await store.statistics()).tasks;
const page = await store.listTasks({ accountId: owner.id }, { limit: 20 });
const repeated = await store.findTaskByIdempotencyKey(owner.id, { key: 'key-0', fingerprint: 'f' });
await store.close();

/** Rows that the next start reads into memory. */
let rows = 0;
for (const name of readdirSync(join(directory, 'shards'))) {
  rows += JSON.parse(readFileSync(join(directory, 'shards', name), 'utf8')).rows.length;
}
for (const name of readdirSync(join(directory, 'journal'))) {
  const lines = readFileSync(join(directory, 'journal', name), 'latin1')
    .trim()
    .split('\n');
  for (const line of lines.slice(1)) rows += JSON.parse(line.slice(18)).length;
}
const cost = { heapUsed, completed, page: page.length, repeated: repeated !== undefined, rows };
console.log(JSON.stringify(cost));
