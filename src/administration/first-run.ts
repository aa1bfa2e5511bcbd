import type { Account, ApiKey } from '../store/account.ts';
import type { Actor } from '../store/audit/entry.ts';
import type { AuditTrail } from '../store/audit/log.ts';
import { toCredits } from '../store/credits.ts';
import { checkChosenKey, hashOf, hintOf, newKey } from '../store/key.ts';
import type { Store } from '../store/store.ts';

const OWNER = 'owner';

/** How the audit log names acts of the first start, which no command requested. */
const REASON = 'first run';

interface FirstRunOptions {
  readonly audit: AuditTrail;
  /** The user of the daemon. */
  readonly who: Actor;
  /** Micro-credits that the owner starts with. */
  readonly credits: number;
  /** A key that somebody chose for the owner. */
  readonly bootstrapKey?: string;
  /** Keeps a key that is drawn for its owner; called before the store knows the key. */
  readonly keep?: (key: string) => Promise<void>;
}

/**
 * Sees to it that somebody can use a store: makes the account `owner` in an empty one, and a key for
 * an owner without any, which is also what a crash between the two leaves behind. A bootstrap key
 * that is not known yet becomes a key of the owner, whatever else is there; once revoked it stays so.
 *
 * @returns the key that was drawn, for its owner to be told; undefined where none had to be
 * @throws Failure invalid_request where the bootstrap key could be guessed
 */
export async function firstRun(
  store: Store,
  options: FirstRunOptions,
): Promise<{ account: Account; key: string } | undefined> {
  const { bootstrapKey, keep } = options;
  if (bootstrapKey !== undefined) {
    checkChosenKey(bootstrapKey, 'ORIEL_BOOTSTRAP_KEY');
    if (await store.findKey(hashOf(bootstrapKey))) return undefined;
    await addKey(store, await ownerOf(store, options), 'bootstrap', bootstrapKey, options);
    return undefined;
  }
  const found = await store.findAccount(OWNER);
  if (found === undefined && (await store.listAccounts()).length > 0) return undefined;
  const account = found ?? (await ownerOf(store, options));
  if ((await store.listKeys(account.id)).length > 0) return undefined;
  const key = newKey();
  await keep?.(key);
  await addKey(store, account, 'first', key, options);
  return { account, key };
}

async function ownerOf(store: Store, { audit, who, credits }: FirstRunOptions): Promise<Account> {
  const found = await store.findAccount(OWNER);
  if (found) return found;
  const details = { plan: 'paid', credits: toCredits(credits), reason: REASON };
  const subject = (made: Account | null) => ({
    object: OWNER,
    details: { ...details, id: made?.id },
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
  const kept = { accountId: account.id, name, hash: hashOf(key), hint: hintOf(key) };
  const subject = (made: ApiKey | null) => ({
    object: made?.id ?? name,
    details: { account: account.name, name, reason: REASON },
  });
  await audit.record({ act: 'keys.create', who, subject }, () =>
    store.createKey({ ...kept, ...unlimited }),
  );
}
