import { hash } from 'node:crypto';
import { Failure } from '../failure.ts';
import { randomText } from './identifier.ts';

/** Marks our keys, so that scanners for leaked secrets can know them. */
const PREFIX = 'sk-oriel-';

/** A key of 256 random bits, without signs that a shell would mind. */
export function newKey(): string {
  return PREFIX + randomText(43);
}

/** What is kept of a key: SHA-256, hexadecimal. A random key needs no slow hash. */
export function hashOf(key: string): string {
  return hash('sha256', key);
}

/** Enough of a key to tell it from others, too little to use it. */
export function hintOf(key: string): string {
  const start = key.startsWith(PREFIX) ? PREFIX.length + 4 : 4;
  return `${key.slice(0, start)}…${key.slice(-4)}`;
}

/**
 * Checks a key that somebody chose, and did not draw from us.
 *
 * @param source where it came from, for the error
 * @throws Failure where it could be guessed, or could not be sent in a header
 */
export function checkChosenKey(key: string, source: string): void {
  const refuse = (message: string) =>
    new Failure('invalid_request', `${source}: ${message}`, { param: source });
  if (!/^[\x21-\x7e]{24,512}$/.test(key)) {
    throw refuse('expected 24 to 512 printable ASCII characters without spaces');
  }
  if (bitsOf(key) < LEAST_BITS) {
    throw refuse(
      'this key could be guessed: it repeats or counts; `openssl rand -hex 24` draws one that cannot be',
    );
  }
}

/** Estimated bits below which a chosen key is refused. */
const LEAST_BITS = 56;

/**
 * Estimates how much there is to guess in a key: the entropy of its characters, without those
 * that go on as the ones before did, by a step of the same size or in a pair that was there already.
 * Words count as if their letters were drawn, so that this is an upper bound.
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
    const goesOn = at > 1 && stepAt(key, at) === stepAt(key, at - 1);
    if (!goesOn && !pairs.has(pair)) bits += entropy;
    pairs.add(pair);
  }
  return bits;
}

function stepAt(key: string, at: number): number {
  return key.charCodeAt(at) - key.charCodeAt(at - 1);
}
