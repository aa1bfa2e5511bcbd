import { codedFailure } from '../failure.ts';
import type { Account, ApiKey, Team } from '../store/account.ts';
import { notFound } from '../store/errors.ts';
import { inParts, type Selection } from '../store/selection.ts';
import type { Store } from '../store/store.ts';

/** @throws Failure where there is no such account */
export async function requireAccount(store: Store, name: string): Promise<Account> {
  const account = await store.findAccount(name);
  if (account) return account;
  throw notFound('account', name);
}

/** The identifier of an account; undefined where none is named. */
export async function accountIdOf(
  store: Store,
  name: string | undefined,
): Promise<string | undefined> {
  return name === undefined ? undefined : (await requireAccount(store, name)).id;
}

/** Least length of the beginning of an identifier, its prefix `key_` included. Hints are longer. */
const MIN_REFERENCE_LENGTH = 8;

/** Keys that the message about an ambiguous reference names. */
const MAX_NAMED = 10;

/**
 * Finds a key by its identifier, a unique beginning of it, its hint, or the key itself.
 *
 * @throws Failure where no key matches, or several
 */
export async function requireKey(store: Store, text: string): Promise<ApiKey> {
  // Imported here, because every start of the command line loads this file.
  const { hashOf } = await import('../store/key.ts');
  const known = (await store.findKey(hashOf(text)))?.key.id;
  // The record of a key that is found by its hash may be a second old.
  if (known) return (await store.listKeys(undefined, { ids: [known] }))[0]!;
  const found = text.length < MIN_REFERENCE_LENGTH ? [] : await store.matchKeys(text, MAX_NAMED);
  if (found.length === 1) return found[0]!;
  // The message does not quote the text, which may be a key.
  if (found.length === 0) {
    throw codedFailure('key_not_found', 'there is no such key; oriel keys list shows all');
  }
  const names = found.map(({ id }) => id).join(', ');
  throw codedFailure('key_ambiguous', `that may be any of ${names}; name one of them`);
}

/**
 * Finds a team by its identifier or name.
 *
 * @param accountId account whose team it is; undefined for any
 * @throws Failure where no team matches, or several
 */
export async function requireTeam(store: Store, text: string, accountId?: string): Promise<Team> {
  const found = (await matchingTeams(store, text, accountId)).filter(
    ({ removedAt }) => removedAt === null,
  );
  if (found.length === 1) return found[0]!;
  if (found.length === 0) throw notFound('team', text);
  const names = found.map(({ id }) => id).join(', ');
  throw codedFailure(
    'team_ambiguous',
    `that may be any of ${names}; name one of them, or the account`,
  );
}

/** Teams with an identifier or a name, removed ones too, of one account or of all. */
export async function matchingTeams(
  store: Store,
  text: string,
  accountId?: string,
): Promise<readonly Team[]> {
  const found: Team[] = [];
  const list = (part: Selection) => store.listTeams(accountId, part);
  for await (const team of inParts(list)) {
    if (team.id === text || team.name === text) found.push(team);
  }
  return found;
}
