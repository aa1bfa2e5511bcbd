import { hash } from 'node:crypto';
import { invalid } from '../schema/invalid.ts';
import { randomText } from './identifier.ts';
import type { KeyHolder, Store } from './store.ts';

/** Prefix by which secret scanners recognise the keys. */
const PREFIX = 'sk-oriel-';

/** A key of 256 random bits, without characters that need quoting in a shell. */
export function newKey(): string {
  return PREFIX + randomText(43);
}

/** SHA-256 of a key, hexadecimal, which is stored in its place. A random key needs no slow hash. */
export function hashOf(key: string): string {
  return hash('sha256', key);
}

/** Characters of a key that identify it in lists and are too few to use it. */
export function hintOf(key: string): string {
  const start = key.startsWith(PREFIX) ? PREFIX.length + 4 : 4;
  return `${key.slice(0, start)}…${key.slice(-4)}`;
}

/**
 * Checks a key that an administrator chose.
 *
 * @param source where the key comes from, for the error
 * @param mayBeGuessed accepts every key that can be sent in a header
 * @throws Failure if the key could be guessed, or cannot be sent in a header
 */
export function checkChosenKey(key: string, source: string, mayBeGuessed = false): void {
  const refuse = (message: string) => invalid(source, message);
  if (mayBeGuessed) {
    if (/^[\x21-\x7e]+$/.test(key)) return;
    throw refuse('expected printable ASCII characters without spaces');
  }
  if (!/^[\x21-\x7e]{24,512}$/.test(key)) {
    throw refuse(`expected 24 to 512 printable ASCII characters without spaces; ${MAKE_ONE}`);
  }
  if (bitsOf(key) < MIN_BITS) {
    throw refuse(
      `this key could be guessed: its characters repeat or follow a sequence; ${MAKE_ONE}`,
    );
  }
}

const MAKE_ONE = 'make one with `openssl rand -hex 24`';

/** Minimum estimate of bits for a chosen key. */
const MIN_BITS = 56;

/**
 * Estimates the bits of a key: the entropy of its characters, without those that continue the characters
 * before them by the same step, or repeat a pair. The letters of words count as if they were random, so
 * this is an upper bound.
 */
function bitsOf(key: string): number {
  const counts = new Map<string, number>();
  for (const character of key) counts.set(character, (counts.get(character) ?? 0) + 1);
  let entropy = 0;
  for (const count of counts.values())
    entropy -= (count / key.length) * Math.log2(count / key.length);
  const pairs = new Set<string>();
  let bits = 0;
  for (let at = 0; at < key.length; at += 1) {
    const pair = key.slice(Math.max(0, at - 1), at + 1);
    const isSequence = at > 1 && stepAt(key, at) === stepAt(key, at - 1);
    if (!isSequence && !pairs.has(pair)) bits += entropy;
    pairs.add(pair);
  }
  return bits;
}

function stepAt(key: string, at: number): number {
  return key.charCodeAt(at) - key.charCodeAt(at - 1);
}

/** A key with its account as they are now, for work that lasts longer than its request; undefined where one is gone. */
export async function findHolder(
  store: Pick<Store, 'findAccount' | 'listKeys' | 'listTeams'>,
  accountId: string,
  keyId: string,
): Promise<KeyHolder | undefined> {
  const account = await store.findAccount(accountId);
  const [key] = await store.listKeys(accountId, { ids: [keyId] });
  if (!account || !key) return undefined;
  const { teamId } = key;
  const [team] = teamId === undefined ? [] : await store.listTeams(accountId, { ids: [teamId] });
  return { key, account, ...(team && { team }) };
}
