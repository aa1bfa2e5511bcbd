import { Failure } from '../failure.ts';

/** Micro-credits in one credit. All sums inside are whole micro-credits; decimals are for people. */
const MICRO = 1_000_000;

/** The largest sum of one account, in micro-credits: what stays exact in a number, with room to add. */
export const MAX_CREDITS = 1_000_000_000 * MICRO;

/** What an account or a key has had; `available` follows: granted − reserved − spent, never below zero. */
export interface Balance {
  readonly granted: number;
  readonly reserved: number;
  readonly spent: number;
}

export function availableOf({ granted, reserved, spent }: Balance): number {
  return granted - reserved - spent;
}

/**
 * Reads credits as people write them, exactly: `12`, `0.000001`, `1e3` is refused.
 *
 * @param param the flag or field to name in the error
 * @returns micro-credits
 * @throws Failure invalid_request where it is no number from 0 to a thousand million, or finer than
 *   a millionth
 */
export function parseCredits(text: string, param = 'credits'): number {
  const match = /^(\d{1,10})(?:\.(\d{1,6})0*)?$/.exec(text.trim());
  const micro = match ? Number(match[1]) * MICRO + Number((match[2] ?? '').padEnd(6, '0')) : NaN;
  if (!(micro <= MAX_CREDITS)) {
    throw new Failure(
      'invalid_request',
      `${param}: expected credits from 0 to 1000000000 with at most six decimals, received ${JSON.stringify(text)}`,
      { param },
    );
  }
  return micro;
}

/** Micro-credits as the decimal number that leaves Oriel: 1250000 is 1.25. */
export function toCredits(micro: number): number {
  return micro / MICRO;
}

/** A balance as it leaves Oriel: decimals, and what is left of it. */
export interface CreditsRecord extends Balance {
  readonly available: number;
}

export function creditsOf(balance: Balance): CreditsRecord {
  return {
    granted: toCredits(balance.granted),
    reserved: toCredits(balance.reserved),
    spent: toCredits(balance.spent),
    available: toCredits(availableOf(balance)),
  };
}
