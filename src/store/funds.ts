import { Failure } from '../failure.ts';
import type { Account } from './account.ts';
import { availableOf, MAX_CREDITS, toCredits } from './credits.ts';
import type { KeyHolder } from './store.ts';

/** Credits reserved in memory for requests in progress, beside those reserved in the records. */
export interface ActiveReservations {
  readonly account: number;
  readonly key: number;
}

const NOTHING: ActiveReservations = { account: 0, key: 0 };

/** @throws Failure invalid_request unless an amount is whole micro-credits up to the maximum of an account */
export function checkAmount(amount: number, param: string): void {
  if (Number.isSafeInteger(amount) && amount >= 0 && amount <= MAX_CREDITS) return;
  throw new Failure(
    'invalid_request',
    `${param}: expected whole micro-credits from 0 to ${MAX_CREDITS}, received ${amount}`,
    { param },
  );
}

/** Adds credits. @throws Failure invalid_request if the account would have been granted more than the maximum */
export function grant<Holder extends Account>(account: Holder, amount: number): Holder {
  checkAmount(amount, 'credits');
  if (account.granted + amount > MAX_CREDITS) {
    throw new Failure(
      'invalid_request',
      `credits: the account has had ${toCredits(account.granted)}; expected at most ${toCredits(MAX_CREDITS)} in all`,
      { param: 'credits' },
    );
  }
  return { ...account, granted: account.granted + amount };
}

/** Micro-credits that a key can spend now: the minimum of its account's balance and its own budget. */
export function spendable(holder: KeyHolder, held: ActiveReservations = NOTHING): number {
  return Math.min(availableOf(holder.account) - held.account, budgetLeft(holder, held));
}

function budgetLeft({ key }: KeyHolder, held: ActiveReservations): number {
  return key.budget === null ? Infinity : key.budget - key.reserved - key.spent - held.key;
}

/**
 * Checks that credits can be reserved.
 *
 * @throws Failure insufficient_quota, code `insufficient_credits` or `key_budget_exceeded`
 */
export function checkFunds(
  holder: KeyHolder,
  amount: number,
  held: ActiveReservations = NOTHING,
): void {
  checkAmount(amount, 'reservation');
  const refuse = (code: 'insufficient_credits' | 'key_budget_exceeded', left: string) => {
    const cost = `this may cost up to ${toCredits(amount)} credits, which are reserved until it ends`;
    return new Failure('insufficient_quota', `${cost}; ${left}`, { code });
  };
  const available = availableOf(holder.account) - held.account;
  if (amount > available) {
    throw refuse('insufficient_credits', `the account has ${toCredits(available)} available`);
  }
  const left = budgetLeft(holder, held);
  if (amount > left) {
    throw refuse('key_budget_exceeded', `the key's budget has ${toCredits(left)} left`);
  }
}

/** Reserves credits. @throws Failure insufficient_quota, see `checkFunds` */
export function reserve(
  holder: KeyHolder,
  amount: number,
  held: ActiveReservations = NOTHING,
): KeyHolder {
  checkFunds(holder, amount, held);
  return moveCredits(holder, amount, 0);
}

/** Spends reserved credits. */
export function charge(holder: KeyHolder, amount: number): KeyHolder {
  return moveCredits(holder, -amount, amount);
}

/** Releases reserved credits. */
export function release(holder: KeyHolder, amount: number): KeyHolder {
  return moveCredits(holder, -amount, 0);
}

/** Spends credits that were not reserved. `amount` is at most `spendable`. */
export function spend(holder: KeyHolder, amount: number): KeyHolder {
  return moveCredits(holder, 0, amount);
}

function moveCredits({ account, key }: KeyHolder, reserved: number, spent: number): KeyHolder {
  if (reserved === 0 && spent === 0) return { account, key };
  const move = <Holder extends { readonly reserved: number; readonly spent: number }>(
    holder: Holder,
  ): Holder => ({
    ...holder,
    reserved: holder.reserved + reserved,
    spent: holder.spent + spent,
  });
  return { account: move(account), key: move(key) };
}
