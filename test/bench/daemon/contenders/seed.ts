import { createHash } from 'node:crypto';

// Fills a new store with an account for each key, and finished tasks of the first of them. Prints the
// identifier of one of these.

/** The part of the store that is used, so that the benchmark needs no types from outside its folder. */
interface Store {
  createAccount(account: object): Promise<{ id: string }>;
  createKey(key: object): Promise<{ id: string }>;
  createTask(task: object): Promise<{ task: { id: string } }>;
  claimTask(id: string): Promise<unknown>;
  completeTask(claim: unknown, completion: object): Promise<unknown>;
  close(): Promise<void>;
}

const CREDIT = 1_000_000;
/** Requests a minute that no benchmark reaches. */
const UNLIMITED = 1_000_000_000;
const AT_ONCE = 64;

const [driver = '', directory = '', count = '0', ...keys] = process.argv.slice(2);
const { openStore } = (await import(driver)) as {
  openStore(options: { directory: string }): Promise<Store>;
};

const store = await openStore({ directory });
const holders: { accountId: string; keyId: string }[] = [];
for (const [index, key] of keys.entries()) {
  const { id: accountId } = await store.createAccount({
    name: `account-${index}`,
    plan: 'paid',
    credits: 1_000_000 * CREDIT,
  });
  const { id: keyId } = await store.createKey({
    accountId,
    name: 'bench',
    hash: createHash('sha256').update(key).digest('hex'),
    hint: 'oriel_benc…ench',
    expiresAt: null,
    models: null,
    rpm: UNLIMITED,
    budget: null,
  });
  holders.push({ accountId, keyId });
}

const asset = `${'x'.repeat(43)}.png`;
const result = { created: 1_700_000_000, outputs: [{ asset, revisedPrompt: null }], usage: null };
let left = Number(count);
let last = '';
const worker = async () => {
  while (left > 0) {
    left -= 1;
    const { task } = await store.createTask({
      ...holders[0],
      type: 'image',
      model: 'some-image-model',
      request: { prompt: 'a harbour at dawn, thin fog over the water', size: '1024x1024', n: 1 },
      deadline: 4_000_000_000_000,
      callbackUrl: null,
      idempotency: null,
      reservation: 4 * CREDIT,
      maxOpenTasks: UNLIMITED,
      storageQuota: Infinity,
      assets: [],
    });
    const claim = await store.claimTask(task.id);
    const completion = { result, charge: 4 * CREDIT, counts: { outputs: 1 }, assets: [] };
    await store.completeTask(claim, completion);
    last = task.id;
  }
};
await Promise.all(Array.from({ length: AT_ONCE }, worker));
await store.close();
process.stdout.write(last);
