import { randomBytes } from 'node:crypto';
import type { Account, ApiKey, NewKey } from '../../src/store/account.ts';
import type { NewAsset } from '../../src/store/asset.ts';
import type { Payer } from '../../src/store/budgets.ts';
import type { Store } from '../../src/store/store.ts';
import type { Completion, NewTask } from '../../src/store/task.ts';

/** Micro-credits in a credit. */
export const CREDIT = 1_000_000;

/** Error of a failed task. */
export const BROKEN = { type: 'service_error', message: 'broken', code: null } as const;

export function keyFor(account: Account, change: Partial<NewKey> = {}): NewKey {
  return {
    accountId: account.id,
    name: 'laptop',
    hash: randomBytes(32).toString('hex'),
    hint: 'sk-oriel-Ab3d…9xYz',
    expiresAt: null,
    models: null,
    rpm: null,
    budget: null,
    ...change,
  };
}

export function taskFor(key: ApiKey, change: Partial<NewTask> = {}): NewTask {
  return {
    accountId: key.accountId,
    keyId: key.id,
    type: 'image',
    model: 'some-image-model',
    request: { prompt: 'a harbour at dawn', size: '1024x1024', n: 1 },
    deadline: 4_000_000_000_000,
    callbackUrl: null,
    assets: [],
    storageQuota: Infinity,
    idempotency: null,
    reservation: CREDIT,
    maxOpenTasks: Infinity,
    ...change,
  };
}

export function completionOf(change: Partial<Completion> = {}): Completion {
  return { result: {}, charge: 0, counts: {}, assets: [], ...change };
}

/** Record of a file that is supposed to be on disk. */
export function newAsset(change: Partial<NewAsset> = {}): NewAsset {
  const id = `${randomBytes(32).toString('base64url')}.png`;
  return { id, mediaType: 'image/png', bytes: 100, sha256: 'a'.repeat(64), ...change };
}

/** An account with credits, and a key of it, which together pay for requests. */
export async function owner(
  store: Store,
  credits = 100 * CREDIT,
  change: Partial<NewKey> = {},
): Promise<{ account: Account; key: ApiKey; payer: Payer }> {
  const account = await store.createAccount({ name: 'owner', plan: 'paid', credits });
  const key = await store.createKey(keyFor(account, change));
  return { account, key, payer: { accountId: account.id, keyId: key.id } };
}

/** Another account, which has no credits, and a key of it. */
export async function stranger(store: Store): Promise<{ other: Account; foreign: ApiKey }> {
  const other = await store.createAccount({ name: 'other', plan: 'free', credits: 0 });
  return { other, foreign: await store.createKey(keyFor(other)) };
}
