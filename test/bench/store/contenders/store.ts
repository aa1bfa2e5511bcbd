import { existsSync } from 'node:fs';
import { figures, inFlight } from './work.ts';

/** The part of the store that is used, so that the benchmark needs no types from outside its folder. */
interface Store {
  createAccount(account: object): Promise<{ id: string }>;
  createKey(key: object): Promise<{ id: string }>;
  listKeys(): Promise<readonly { id: string; accountId: string }[]>;
  createTask(task: object): Promise<{ task: { id: string } }>;
  claimTask(id: string): Promise<unknown>;
  completeTask(claim: unknown, completion: object): Promise<unknown>;
  close(): Promise<void>;
}

interface Options {
  directory: string;
  onCommit(commit: { bytes: number }): void;
}

const CREDIT = 1_000_000;
const WARM_UP = 3000;

const [module = '', work, directory = '', count = '0'] = process.argv.slice(2);
const { openStore } = (await import(module)) as { openStore(options: Options): Promise<Store> };

const isNew = !existsSync(directory);
let bytes = 0;
const onCommit = (commit: { bytes: number }) => {
  bytes += commit.bytes;
};

const opening = performance.now();
const store = await openStore({ directory, onCommit });
const opened = (performance.now() - opening) / 1000;

if (isNew) {
  const { id } = await store.createAccount({
    name: 'owner',
    plan: 'paid',
    credits: 1_000_000 * CREDIT,
  });
  await store.createKey({
    accountId: id,
    name: 'bench',
    hash: 'a'.repeat(64),
    hint: 'sk-oriel-aaaa…aaaa',
    expiresAt: null,
    models: null,
    rpm: null,
    budget: null,
  });
}
const [key] = await store.listKeys();
const task = {
  accountId: key!.accountId,
  keyId: key!.id,
  type: 'image',
  model: 'some-image-model',
  request: {
    prompt: 'a harbour at dawn, fishing boats coming home, soft light, thin fog over the water',
    size: '1024x1024',
    n: 1,
    quality: 'high',
  },
  deadline: 4_000_000_000_000,
  callbackUrl: null,
  idempotency: null,
  reservation: 4 * CREDIT,
  maxOpenTasks: Number.MAX_SAFE_INTEGER,
  storageQuota: Infinity,
  assets: [],
};
const create = async () => (await store.createTask(task)).task.id;
const asset = `${'x'.repeat(43)}.png`;
const result = { created: 1_700_000_000, outputs: [{ asset, revisedPrompt: null }], usage: null };

if (work === 'fill') {
  await inFlight(64, Number(count), async () => {
    const id = await create();
    const claim = await store.claimTask(id);
    const completion = { result, charge: 4 * CREDIT, counts: { outputs: 1 }, assets: [] };
    await store.completeTask(claim, completion);
  });
} else if (work === 'create') {
  await inFlight(64, WARM_UP, create);
  bytes = 0;
  figures({ seconds: await inFlight(64, Number(count), create), bytes: bytes / Number(count) });
} else if (work === 'alone') {
  await inFlight(1, WARM_UP, create);
  bytes = 0;
  figures({ seconds: await inFlight(1, Number(count), create), bytes: bytes / Number(count) });
} else {
  figures({ seconds: opened, bytes: 0 });
}
await store.close();
