import { invalid } from '../schema/invalid.ts';

/** Micro-credits in one credit. Amounts are stored as whole micro-credits; decimals are for display. */
export const MICRO = 1_000_000;

/** Maximum of one account, in micro-credits: sums of it are exact in a double. */
export const MAX_CREDITS = 1_000_000_000 * MICRO;

/** Totals of an account or a key. Available is granted − reserved − spent, never below zero. */
export interface Balance {
  readonly granted: number;
  readonly reserved: number;
  readonly spent: number;
}

export function availableOf({ granted, reserved, spent }: Balance): number {
  return granted - reserved - spent;
}

/**
 * Parses a decimal number of credits exactly. Accepts `12` and `0.000001`, rejects `1e3`.
 *
 * @returns micro-credits
 * @throws Failure invalid_request unless the text is a number from 0 to 1000000000 with at most six decimals
 */
export function parseCredits(text: string): number {
  const match = /^(\d{1,10})(?:\.(\d{1,6})0*)?$/.exec(text.trim());
  const micro = match ? Number(match[1]) * MICRO + Number((match[2] ?? '').padEnd(6, '0')) : NaN;
  if (!(micro <= MAX_CREDITS)) {
    throw invalid(
      'credits',
      `expected credits from 0 to 1000000000 with at most six decimals, received ${JSON.stringify(text)}`,
    );
  }
  return micro;
}

/** Micro-credits as a decimal number of credits: 1250000 is 1.25. */
export function toCredits(micro: number): number {
  return micro / MICRO;
}

/** A decimal without an exponent, which `String` gives to `1e-6`. */
export function decimal(credits: number): string {
  return credits.toFixed(6).replace(/\.?0+$/, '');
}

/** Micro-credits as the text of a decimal. */
export function creditsText(micro: number): string {
  return decimal(toCredits(micro));
}

/** Balance in API responses: credits as decimals, with the available amount. */
export interface CreditsRecord extends Balance {
  readonly available: number;
}

/** A balance in credits. */
export function inCredits({ granted, reserved, spent }: Balance): Balance {
  return {
    granted: toCredits(granted),
    reserved: toCredits(reserved),
    spent: toCredits(spent),
  };
}

export function creditsOf(balance: Balance): CreditsRecord {
  return { ...inCredits(balance), available: toCredits(availableOf(balance)) };
}
