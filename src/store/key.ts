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
  if (/^[\x21-\x7e]{24,512}$/.test(key)) return;
  throw new Failure(
    'invalid_request',
    `${source}: expected 24 to 512 printable ASCII characters without spaces`,
    { param: source },
  );
}
