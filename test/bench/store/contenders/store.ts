import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { COMPLETION, keyFor, openStore, type Store, taskFor, UNLIMITED } from './records.ts';
import { figures, inFlight } from './work.ts';

// Work of a store: `store.js DRIVER WORK DIRECTORY COUNT KEY...`. Prints figures as JSON, `seed` the last task's
// identifier.

const WARM_UP = 3000;
const AT_ONCE = 64;

const [driver = '', work = '', directory = '', given = '0', ...keys] = process.argv.slice(2);
const count = Number(given);
const isNew = !existsSync(directory);
let bytes = 0;
const onCommit = (commit: { bytes: number }) => {
  bytes += commit.bytes;
};

const opening = performance.now();
const store: Store = await openStore(driver, { directory, onCommit });
const opened = (performance.now() - opening) / 1000;

if (isNew && keys.length === 0) await keyFor(store, 'owner', 'a'.repeat(64));
for (const [index, key] of keys.entries()) {
  const hash = createHash('sha256').update(key).digest('hex');
  await keyFor(store, `account-${index}`, hash, UNLIMITED);
}
const [first] = await store.listKeys();
const task = taskFor({ accountId: first!.accountId, keyId: first!.id });
const create = async () => (await store.createTask(task)).task.id;

let last = '';
async function complete(): Promise<void> {
  last = await create();
  await store.completeTask(await store.claimTask(last), COMPLETION);
}

/** Creations after a warm-up, some of them concurrently. */
async function creations(width: number): Promise<void> {
  await inFlight(width, WARM_UP, create);
  bytes = 0;
  const seconds = await inFlight(width, count, create);
  figures({ seconds, bytes: bytes / count });
}

const WORK: Readonly<Record<string, () => unknown>> = {
  fill: () => inFlight(AT_ONCE, count, complete),
  seed: async () => {
    await inFlight(AT_ONCE, count, complete);
    process.stdout.write(last);
  },
  create: () => creations(AT_ONCE),
  alone: () => creations(1),
  open: () => figures({ seconds: opened, bytes: 0 }),
};
await WORK[work]!();
await store.close();
