import { type Account, type ApiKey, OWNER } from '../store/account.ts';
import type { Actor } from '../store/audit/entry.ts';
import type { AuditTrail } from '../store/audit/log.ts';
import { toCredits } from '../store/credits.ts';
import { checkChosenKey, hashOf, hintOf, newKey } from '../store/key.ts';
import type { Store } from '../store/store.ts';

/** Reason in the audit log of acts of the first start, which no command requested. */
const REASON = 'first run';

interface FirstRunOptions {
  readonly audit: AuditTrail;
  /** The user of the daemon. */
  readonly who: Actor;
  /** Initial micro-credits of the owner. */
  readonly credits: number;
  /** A key for the owner from the environment. */
  readonly bootstrapKey?: string;
  /** Accepts a bootstrap key that could be guessed, for a daemon on the developer's machine. */
  readonly anyKey?: boolean;
  /** Saves the generated key for its owner; called before the store has the key. */
  readonly saveKey?: (key: string) => Promise<void>;
}

/**
 * Makes an empty store usable: creates the account `owner`, and a key for an owner without one, which
 * a crash between the two steps can leave behind. A bootstrap key that the store does not have
 * becomes a key of the owner in any store; once revoked it stays revoked.
 *
 * @returns the generated key; undefined where none was needed
 * @throws Failure invalid_request for a bootstrap key that could be guessed
 */
export function firstRun(
  store: Store,
  options: FirstRunOptions,
): Promise<{ account: Account; key: string } | undefined> {
  // Several nodes may start on an empty store at once.
  return store.withLock('first-run', () => ensureKey(store, options));
}

async function ensureKey(
  store: Store,
  options: FirstRunOptions,
): Promise<{ account: Account; key: string } | undefined> {
  const { bootstrapKey, anyKey = false, saveKey } = options;
  if (bootstrapKey !== undefined) {
    checkChosenKey(bootstrapKey, 'ORIEL_BOOTSTRAP_KEY', anyKey);
    if (await store.findKey(hashOf(bootstrapKey))) return undefined;
    await addKey(store, await ensureOwner(store, options), 'bootstrap', bootstrapKey, options);
    return undefined;
  }
  const found = await store.findAccount(OWNER);
  if (found === undefined && (await store.listAccounts()).length > 0) return undefined;
  const account = found ?? (await ensureOwner(store, options));
  if ((await store.listKeys(account.id)).length > 0) return undefined;
  const key = newKey();
  await saveKey?.(key);
  await addKey(store, account, 'first', key, options);
  return { account, key };
}

async function ensureOwner(
  store: Store,
  { audit, who, credits }: FirstRunOptions,
): Promise<Account> {
  const found = await store.findAccount(OWNER);
  if (found) return found;
  const details = { plan: 'paid', credits: toCredits(credits), reason: REASON };
  const subject = (created: Account | null) => ({
    object: OWNER,
    details: { ...details, id: created?.id },
  });
  return audit.record({ act: 'accounts.create', who, subject }, () =>
    store.createAccount({ name: OWNER, plan: 'paid', credits }),
  );
}

async function addKey(
  store: Store,
  account: Account,
  name: string,
  key: string,
  { audit, who }: FirstRunOptions,
): Promise<void> {
  const unlimited = { expiresAt: null, models: null, rpm: null, budget: null };
  const properties = { accountId: account.id, name, hash: hashOf(key), hint: hintOf(key) };
  const subject = (created: ApiKey | null) => ({
    object: created?.id ?? name,
    details: { account: account.name, name, reason: REASON },
  });
  await audit.record({ act: 'keys.create', who, subject }, () =>
    store.createKey({ ...properties, ...unlimited }),
  );
}
