import { Failure } from '../failure.ts';
import type { Account, ApiKey } from '../store/account.ts';
import { notFound } from '../store/errors.ts';
import type { Store } from '../store/store.ts';

/** @throws Failure where there is no such account */
export async function requireAccount(store: Store, name: string): Promise<Account> {
  const account = await store.findAccount(name);
  if (account) return account;
  throw notFound('account', name);
}

/** So much of an identifier, its kind included, that nobody types it by accident. */
const SHORTEST = 8;

/**
 * @param text an identifier, so much of its beginning that it tells one key from all others, a hint,
 *   or the hash of a key
 * @throws Failure where there is no such key, or several
 */
export async function requireKey(store: Store, text: string, hash: string): Promise<ApiKey> {
  const keys = await store.listKeys();
  const exact = keys.filter((key) => key.id === text || key.hint === text || key.hash === hash);
  const begun = text.length < SHORTEST ? [] : keys.filter(({ id }) => id.startsWith(text));
  const found = exact.length > 0 ? exact : begun;
  if (found.length === 1) return found[0]!;
  // What was typed may be a key itself, which is repeated nowhere.
  if (found.length === 0) {
    throw new Failure('invalid_request', 'there is no such key; oriel keys list shows all', {
      code: 'key_not_found',
    });
  }
  const names = found.map(({ id }) => id).join(', ');
  throw new Failure('invalid_request', `that may be any of ${names}; name one of them`, {
    code: 'key_ambiguous',
  });
}
