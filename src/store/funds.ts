import { codedFailure, Failure } from '../failure.ts';
import { invalid } from '../schema/invalid.ts';
import type { Account, ApiKey, Team } from './account.ts';
import type { BudgetWindow, WindowLimits } from './budgets.ts';
import { calendarWindow, PERIODS, timeZoneNamed } from './calendar.ts';
import { availableOf, MAX_CREDITS, toCredits } from './credits.ts';
import type { KeyHolder } from './store.ts';

/** The records that a reservation or a charge changes. */
export interface Funds extends KeyHolder {
  /** Team in whose budgets the charge counts. */
  readonly team?: Team | undefined;
  /** Windows of the key and of the team in which the charge counts. */
  readonly windows?: readonly BudgetWindow[];
}

/**
 * Credits reserved in memory for requests in progress, beside those reserved in the records, by the
 * identifier of an account, a key, a team or a window.
 */
export type ActiveReservations = (id: string) => number;

const NOTHING: ActiveReservations = () => 0;

/** @throws Failure invalid_request unless an amount is whole micro-credits up to the maximum of an account */
export function checkAmount(amount: number, param: string): void {
  if (Number.isSafeInteger(amount) && amount >= 0 && amount <= MAX_CREDITS) return;
  throw invalid(param, `expected whole micro-credits from 0 to ${MAX_CREDITS}, received ${amount}`);
}

/** @throws Failure invalid_request for an unknown time zone, or an amount that is not whole micro-credits */
export function checkWindows(limits: WindowLimits): void {
  const { timeZone } = limits;
  if (timeZoneNamed(timeZone) !== timeZone) {
    const message = `expected a name such as Europe/Berlin, received ${JSON.stringify(timeZone)}`;
    throw invalid('timeZone', message);
  }
  for (const period of PERIODS) {
    const limit = limits[period];
    if (limit !== undefined) checkAmount(limit, period);
  }
}

/** Adds credits. @throws Failure invalid_request if the account would have been granted more than the maximum */
export function grant<Holder extends Account>(account: Holder, amount: number): Holder {
  checkAmount(amount, 'credits');
  if (account.granted + amount > MAX_CREDITS) {
    throw invalid(
      'credits',
      `the account has had ${toCredits(account.granted)}; expected at most ${toCredits(MAX_CREDITS)} in all`,
    );
  }
  return { ...account, granted: account.granted + amount };
}

/** Micro-credits that a key can spend now: the minimum of its account's balance and of all budgets; never below 0. */
export function spendable(funds: Funds, held: ActiveReservations = NOTHING): number {
  let least = accountFunds(funds, held);
  for (const { limit, used } of budgetsOf(funds, held)) least = Math.min(least, limit - used);
  return Math.max(0, least);
}

/** Available micro-credits of the account. */
export function accountFunds({ account }: Funds, held: ActiveReservations = NOTHING): number {
  return availableOf(account) - held(account.id);
}

/** One budget of a key or a team, in micro-credits. */
interface Budget {
  readonly holder: ApiKey | Team;
  readonly limit: number;
  readonly used: number;
  /** Undefined for the total budget. */
  readonly window?: BudgetWindow;
}

function budgetsOf({ key, team, windows = [] }: Funds, held: ActiveReservations): Budget[] {
  const budgets: Budget[] = [];
  for (const holder of team ? [key, team] : [key]) {
    if (holder.budget === null) continue;
    const used = holder.reserved + holder.spent + held(holder.id);
    budgets.push({ holder, limit: holder.budget, used });
  }
  for (const window of windows) {
    const holder = window.holderId === key.id ? key : team;
    const limit = holder?.windows?.[window.period];
    // The limit may be removed between the reservation and the charge.
    if (holder === undefined || limit === undefined) continue;
    const used = window.reserved + window.spent + held(window.id);
    budgets.push({ holder, limit, used, window });
  }
  return budgets;
}

const isKey = (holder: ApiKey | Team): holder is ApiKey => 'hash' in holder;

const ADJECTIVES = { day: 'daily', week: 'weekly', month: 'monthly' } as const;

/**
 * The time from which a budget may allow a cost, in milliseconds since the epoch. Infinite for a total
 * budget, and where the cost is above the limit of a whole window.
 */
function resetOf({ holder, limit, window }: Budget, amount: number, now: number): number {
  if (window === undefined || amount > limit) return Infinity;
  return calendarWindow(holder.windows!.timeZone, window.period, now).end;
}

/** The refusal for a budget that a cost exceeds. */
function overBudget(cost: string, amount: number, budget: Budget, now: number): Failure {
  const { holder, limit, used, window } = budget;
  const left = toCredits(Math.max(0, limit - used));
  const owner = `${isKey(holder) ? 'key' : 'team'} ${holder.name}`;
  if (window === undefined) {
    const code = isKey(holder) ? 'key_budget_exceeded' : 'team_budget_exceeded';
    const message = `${cost}; the budget of ${toCredits(limit)} credits of ${owner} has ${left} left`;
    return new Failure('insufficient_quota', message, { code });
  }
  const { timeZone } = holder.windows!;
  const { end } = calendarWindow(timeZone, window.period, now);
  const code = isKey(holder) ? 'key_window_exceeded' : 'team_window_exceeded';
  const named = `the ${ADJECTIVES[window.period]} budget of ${toCredits(limit)} credits of ${owner}`;
  const reset = `${new Date(end).toISOString()} (the next ${window.period} of ${timeZone})`;
  const message = `${cost}; ${named} has ${left} left until it resets at ${reset}`;
  const mayRetry = resetOf(budget, amount, now) < Infinity;
  return new Failure('insufficient_quota', message, {
    code,
    ...(mayRetry && { retryAfter: Math.max(1, (end - now) / 1000) }),
  });
}

/**
 * Checks that credits can be reserved.
 *
 * @throws Failure insufficient_quota, code `insufficient_credits`, or of a total budget
 *   `key_budget_exceeded`, `team_budget_exceeded`, or of a window `key_window_exceeded`,
 *   `team_window_exceeded`, with the seconds until it ends
 */
export function checkFunds(
  funds: Funds,
  amount: number,
  held: ActiveReservations = NOTHING,
  now = Date.now(),
): void {
  checkAmount(amount, 'reservation');
  // A budget may have been set below what is spent: requests without a cost are possible nevertheless.
  if (amount === 0) return;
  const cost = `this may cost up to ${toCredits(amount)} credits, which are reserved until it ends`;
  const available = accountFunds(funds, held);
  if (amount > available) {
    const left = `the account has ${toCredits(available)} available`;
    throw codedFailure('insufficient_credits', `${cost}; ${left}`);
  }
  const exceeded = budgetsOf(funds, held).filter(({ limit, used }) => amount > limit - used);
  if (exceeded.length === 0) return;
  // Of several budgets the one that resets last says when the request may succeed.
  const times = exceeded.map((budget) => resetOf(budget, amount, now));
  throw overBudget(cost, amount, exceeded[times.indexOf(Math.max(...times))]!, now);
}

/** Reserves credits. @throws Failure insufficient_quota, see `checkFunds` */
export function reserve(
  funds: Funds,
  amount: number,
  held: ActiveReservations = NOTHING,
  now = Date.now(),
): Funds {
  checkFunds(funds, amount, held, now);
  return moveCredits(funds, amount, 0);
}

/** Spends reserved credits. */
export function charge(funds: Funds, amount: number): Funds {
  return moveCredits(funds, -amount, amount);
}

/** Releases reserved credits. */
export function release(funds: Funds, amount: number): Funds {
  return moveCredits(funds, -amount, 0);
}

/** Spends credits that were not reserved. `amount` is at most `spendable`. */
export function spend(funds: Funds, amount: number): Funds {
  return moveCredits(funds, 0, amount);
}

function moveCredits(funds: Funds, reserved: number, spent: number): Funds {
  if (reserved === 0 && spent === 0) return funds;
  const move = <Holder extends { readonly reserved: number; readonly spent: number }>(
    holder: Holder,
  ): Holder => ({
    ...holder,
    reserved: holder.reserved + reserved,
    spent: holder.spent + spent,
  });
  const { account, key, team, windows } = funds;
  return {
    account: move(account),
    key: move(key),
    ...(team && { team: move(team) }),
    ...(windows && { windows: windows.map(move) }),
  };
}
