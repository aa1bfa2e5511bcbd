import { calendarWindow, PERIODS, type Period } from './calendar.ts';
import type { Balance } from './credits.ts';

/** Micro-credits that a key or a team may spend in each day, week and month of a time zone. */
export interface WindowLimits {
  /** IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string;
  readonly day?: number;
  readonly week?: number;
  readonly month?: number;
}

/** A key or a team. */
interface WindowHolder {
  readonly id: string;
  readonly windows?: WindowLimits;
}

/** What a key or a team has reserved and spent in one window. Times and dates are those of its time zone. */
export interface BudgetWindow {
  /** Composed of the fields below: see `windowId`. */
  readonly id: string;
  readonly accountId: string;
  /** Identifier of the key or the team. */
  readonly holderId: string;
  readonly period: Period;
  /** First date of the window: `2026-11-22`. A new time zone keeps the window where it has the same date. */
  readonly from: string;
  readonly reserved: number;
  readonly spent: number;
}

/**
 * The team and the windows that a charge counts against, beside its account and key. Determined when its
 * credits are reserved: the charge stays in them when the window or the key's team has changed meanwhile.
 */
export interface BudgetScope {
  readonly teamId: string | null;
  /** Identifiers of windows. */
  readonly windows: readonly string[];
}

function windowId(holderId: string, period: Period, from: string): string {
  return `${holderId}/${period}/${from}`;
}

/** A window without any reservation or charge. */
export function emptyWindow(id: string, accountId: string): BudgetWindow {
  const [holderId, period, from] = id.split('/') as [string, Period, string];
  return { id, accountId, holderId, period, from, reserved: 0, spent: 0 };
}

/** A scope, and the time in which reservations of its key have it. */
interface CurrentScope {
  readonly scope: BudgetScope;
  /** First millisecond, and the first one after it, since the epoch. */
  readonly start: number;
  readonly end: number;
  readonly keyWindows: WindowLimits | undefined;
  readonly team: string | undefined;
  readonly teamWindows: WindowLimits | undefined;
}

/**
 * The scopes of keys with windows or a team. A scope is computed once for each window, which takes 3 µs, and
 * is the same object until then.
 */
export class BudgetScopes {
  readonly #current = new Map<string, CurrentScope>();

  /** The scope of credits that are reserved now; undefined where only account and key count. */
  of(key: WindowHolder, team: WindowHolder | undefined, now: number): BudgetScope | undefined {
    if (key.windows === undefined && team === undefined) return undefined;
    const known = this.#current.get(key.id);
    if (
      known &&
      now >= known.start &&
      now < known.end &&
      known.keyWindows === key.windows &&
      known.team === team?.id &&
      known.teamWindows === team?.windows
    ) {
      return known.scope;
    }
    const current = currentScope(key, team, now);
    this.#current.set(key.id, current);
    return current.scope;
  }
}

function currentScope(
  key: WindowHolder,
  team: WindowHolder | undefined,
  now: number,
): CurrentScope {
  let [start, end] = [-Infinity, Infinity];
  const windows: string[] = [];
  for (const { id, windows: limits } of team ? [key, team] : [key]) {
    if (!limits) continue;
    for (const period of PERIODS) {
      if (limits[period] === undefined) continue;
      const window = calendarWindow(limits.timeZone, period, now);
      windows.push(windowId(id, period, window.from));
      start = Math.max(start, window.start);
      end = Math.min(end, window.end);
    }
  }
  const scope = { teamId: team?.id ?? null, windows };
  const holders = { keyWindows: key.windows, team: team?.id, teamWindows: team?.windows };
  return { scope, start, end, ...holders };
}

/** A window budget of a key or a team with its balance now. `granted` is its limit. */
export interface WindowBalance extends Balance {
  readonly period: Period;
  readonly timeZone: string;
  /** Time at which the window started, and at which the next one starts, in milliseconds since the epoch. */
  readonly start: number;
  readonly end: number;
}

/**
 * The window budgets of a key or a team.
 *
 * @param windows rows of the store; those of other holders and of other times are ignored
 */
export function windowBalances(
  { id, windows: limits }: WindowHolder,
  windows: readonly BudgetWindow[],
  now: number,
): WindowBalance[] {
  if (!limits) return [];
  return PERIODS.flatMap((period) => {
    const granted = limits[period];
    if (granted === undefined) return [];
    const { timeZone } = limits;
    const { from, start, end } = calendarWindow(timeZone, period, now);
    const row = windows.find((one) => one.id === windowId(id, period, from));
    const { reserved = 0, spent = 0 } = row ?? {};
    return { period, timeZone, start, end, granted, reserved, spent };
  });
}

/** Account and key that pay for a request. */
export interface Payer {
  readonly accountId: string;
  readonly keyId: string;
}

/** A payer with the team and the windows that a charge counts against; absent where the key has neither. */
export interface ScopedPayer extends Payer {
  readonly scope?: BudgetScope | undefined;
}

/** Identifiers of all that a charge counts against: its account, key, team and windows. */
export function holdersOf({ accountId, keyId, scope }: ScopedPayer): string[] {
  if (!scope) return [accountId, keyId];
  const { teamId, windows } = scope;
  return [accountId, keyId, ...(teamId === null ? [] : [teamId]), ...windows];
}

/** Credits reserved for a request in progress. It exists in memory only: the end of the process releases it. */
export interface Reservation extends ScopedPayer {
  readonly id: string;
  readonly amount: number;
}
