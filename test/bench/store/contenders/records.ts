/** The part of the store that is used, so that the benchmark needs no types from outside its folder. */
export interface Store {
  createAccount(account: object): Promise<{ id: string }>;
  createKey(key: object): Promise<{ id: string }>;
  listKeys(): Promise<readonly { id: string; accountId: string }[]>;
  createTask(task: object): Promise<{ task: Task }>;
  claimTask(id: string): Promise<unknown>;
  claimPending(query: { limit: number }): Promise<readonly Task[]>;
  completeTask(claim: unknown, completion: object): Promise<unknown>;
  publish(event: Event): void;
  watch(listener: (event: Event) => void): () => void;
  close(): Promise<void>;
}

export interface Task {
  readonly id: string;
}

export interface Event {
  readonly kind: string;
  readonly id?: string;
  readonly status?: string;
}

interface Options {
  readonly directory: string;
  onCommit?(commit: { bytes: number }): void;
}

/** Opens a store by a module that exports `openStore`. */
export async function openStore(module: string, options: Options): Promise<Store> {
  const driver = (await import(module)) as { openStore(options: Options): Promise<Store> };
  return driver.openStore(options);
}

/** Owner of tasks. */
export interface Holder {
  readonly accountId: string;
  readonly keyId: string;
}

const CREDIT = 1_000_000;
/** Requests a minute and open tasks that no benchmark reaches. */
export const UNLIMITED = 1_000_000_000;

/** Creates an account with a key. @param rpm null for the limit of the plan */
export async function keyFor(
  store: Store,
  name: string,
  hash: string,
  rpm: number | null = null,
): Promise<Holder> {
  const account = { name, plan: 'paid', credits: 1_000_000 * CREDIT };
  const { id: accountId } = await store.createAccount(account);
  const { id: keyId } = await store.createKey({
    ...{ accountId, name: 'bench', hash, hint: 'sk-oriel-aaaa…aaaa', rpm },
    ...{ expiresAt: null, models: null, budget: null },
  });
  return { accountId, keyId };
}

/** What a client asks for. */
export const TASK = {
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
};

/** A task as a client creates it. */
export function taskFor(holder: Holder): object {
  return {
    ...holder,
    ...TASK,
    reservation: 4 * CREDIT,
    maxOpenTasks: UNLIMITED,
    storageQuota: Infinity,
    assets: [],
  };
}

/** The end of a task with one picture. */
export const COMPLETION = {
  result: {
    created: 1_700_000_000,
    outputs: [{ asset: `${'x'.repeat(43)}.png`, revisedPrompt: null }],
    usage: null,
  },
  charge: 4 * CREDIT,
  counts: { outputs: 1 },
  assets: [],
};
