import type { AlertRequest, AlertType } from '../store/alert.ts';
import type { WindowBalance } from '../store/budgets.ts';
import { type Balance, toCredits } from '../store/credits.ts';

/** Something to raise an alert of, unless one was raised in its window. */
export interface Condition extends Omit<AlertRequest, 'alert'> {
  readonly type: AlertType;
  readonly message: string;
  /** Identifiers and names of what it is about. */
  readonly about: Readonly<Record<string, string>>;
  readonly figures: Readonly<Record<string, number>>;
  /** Place in the console: `models`. */
  readonly place: string;
  /** Whether it is about this node alone, which need not ask the others. */
  readonly isLocal?: boolean;
}

/** When a condition may be raised again: milliseconds since the epoch. */
interface Times {
  readonly now: number;
  /** Milliseconds of `alerts.repeat`. */
  readonly repeat: number;
}

const DAY = 86_400_000;

/** Milliseconds for which the alert of a total budget is not repeated while its limit stays. */
const TOTAL_MS = 400 * DAY;

/** Characters of names and reasons in a message: they may come from a provider. */
const MAX_TEXT = 300;

const quoted = (text: string) => JSON.stringify(text.slice(0, MAX_TEXT));
const percentOf = (share: number) => Math.floor(share * 100 + 1e-9);
const sizeOf = (bytes: number) =>
  bytes < 1e9
    ? `${Math.round(bytes / 1e6)} MB`
    : `${(bytes / 1e9).toFixed(bytes < 1e10 ? 2 : 0)} GB`;

const again = ({ now, repeat }: Times) => ({ window: '', level: 1, until: now + repeat });

/** An account, or a key or a team of one. */
export interface Holder {
  readonly kind: 'account' | 'key' | 'team';
  readonly id: string;
  readonly name: string;
  readonly account: { readonly id: string; readonly name: string };
}

/** @param balance its total credits, or those of a window; all amounts in micro-credits */
export function budgetReached(
  { kind, id, name, account }: Holder,
  balance: Balance | WindowBalance,
  level: number,
  now: number,
): Condition {
  const { granted, spent } = balance;
  const period = 'period' in balance ? balance.period : 'total';
  const percent = percentOf(spent / granted);
  const isAccount = kind === 'account';
  const who = isAccount
    ? `The account ${quoted(name)}`
    : `The ${kind} ${quoted(name)} of the account ${quoted(account.name)}`;
  const what = isAccount ? 'credits' : `${period === 'total' ? '' : `${period}'s `}budget`;
  const sums = `${toCredits(spent)} of ${toCredits(granted)} credits`;
  const end = level < 100 ? '' : ' Requests that cost more than the rest are refused.';
  return {
    type: isAccount ? 'credits.reached' : 'budget.reached',
    message: `${who} has spent ${percent}% of its ${what}: ${sums}.${end}`,
    about: {
      ...{ account: account.id, account_name: account.name },
      ...(!isAccount && { [kind]: id, [`${kind}_name`]: name, period }),
    },
    figures: {
      ...{ threshold_percent: level, percent },
      ...{ spent_credits: toCredits(spent), limit_credits: toCredits(granted) },
    },
    place: `accounts?account=${encodeURIComponent(account.name)}`,
    subject: `${kind}/${id}/${period}`,
    window: 'period' in balance ? String(balance.start) : String(granted),
    level,
    until: 'period' in balance ? balance.end : now + TOTAL_MS,
  };
}

/** A route, by the provider's name of the model. */
export interface RouteState {
  readonly provider: string;
  readonly model: string;
  /** The account that does not use it; null for all. */
  readonly account: string | null;
}

const routeOf = ({ provider, model, account }: RouteState) => ({
  about: { provider, model, ...(account !== null && { account }) },
  figures: {},
  place: 'models',
  subject: `route/${provider}/${model}`,
});

/** @param reason the provider's words, without secrets */
export function routeDown(route: RouteState, reason: string, times: Times): Condition {
  const { provider, model, account } = route;
  const state = account === null ? 'down' : `down for the account ${account}`;
  return {
    type: 'route.down',
    message: `The route to ${quoted(model)} at the provider ${quoted(provider)} is ${state}: ${reason.slice(0, MAX_TEXT)}`,
    ...{ ...routeOf(route), ...again(times) },
    // Down for all accounts is more than for one.
    level: account === null ? 2 : 1,
  };
}

export function routeRecovered(route: RouteState, times: Times): Condition {
  const { provider, model } = route;
  return {
    type: 'route.recovered',
    message: `The route to ${quoted(model)} at the provider ${quoted(provider)} works again.`,
    ...{ ...routeOf(route), ...again(times), level: 3, isFollowUp: true },
  };
}

/** @param key names one of several keys; null for an only one */
export function providerRefused(
  { provider, key, reason }: { provider: string; key: string | null; reason: string },
  times: Times,
): Condition {
  const which = key === null ? 'the API key' : `the API key ${key}`;
  return {
    type: 'provider.refused',
    message: `The provider ${quoted(provider)} refuses ${which} or its account: ${reason.slice(0, MAX_TEXT)}`,
    about: { provider, ...(key !== null && { key }) },
    ...{ figures: {}, place: 'models', subject: `refused/${provider}/${key ?? ''}` },
    ...again(times),
  };
}

interface Errors {
  readonly name: string;
  readonly requests: number;
  readonly failed: number;
  /** Milliseconds over which they were counted, and the share that is too much. */
  readonly window: number;
  readonly threshold: number;
}

export function manyErrors(
  kind: 'provider' | 'model',
  { name, requests, failed, window, threshold }: Errors,
  times: Times,
): Condition {
  const percent = percentOf(failed / requests);
  const span = `${Math.round(window / 1000)} seconds`;
  return {
    type: `${kind}.errors`,
    message: `${percent}% of the last ${requests} requests to the ${kind} ${quoted(name)} failed, within ${span}.`,
    about: { [kind]: name },
    figures: { ...{ percent, threshold_percent: percentOf(threshold) }, requests, failed },
    ...{ place: kind === 'model' ? 'requests' : 'models', subject: `errors/${kind}/${name}` },
    ...again(times),
  };
}

/** Free and total are bytes. */
export function diskLow(
  { node, free, total }: { node: string; free: number; total: number },
  times: Times,
): Condition {
  return {
    type: 'disk.low',
    message: `The disk of the data folder of ${quoted(node)} has ${sizeOf(free)} free of ${sizeOf(total)}.`,
    about: { node },
    figures: { free_bytes: free, total_bytes: total },
    ...{ place: 'settings', subject: `disk/${node}`, isLocal: true },
    ...again(times),
  };
}

/** @param share of the memory that is used, from 0 to 1 */
export function memoryLow(node: string, share: number, times: Times): Condition {
  const percent = percentOf(share);
  return {
    type: 'memory.low',
    message: `The daemon ${quoted(node)} uses ${percent}% of its memory. It refuses requests when it has used all.`,
    ...{ about: { node }, figures: { percent } },
    ...{ place: 'settings', subject: `memory/${node}`, isLocal: true },
    ...again(times),
  };
}

/** @param node a record whose lease has ended; a daemon that stops in order removes its own */
export function nodeLost(
  { id, name, aliveUntil }: { id: string; name: string; aliveUntil: number },
  now: number,
): Condition {
  const since = new Date(aliveUntil).toISOString();
  return {
    type: 'node.lost',
    message: `The daemon ${quoted(name)} does not answer since ${since}. Other nodes take over its tasks.`,
    ...{ about: { node: name, node_id: id }, figures: {}, place: 'settings' },
    // Rows of lost nodes are kept for a day.
    ...{ subject: `node/${id}`, window: '', level: 1, until: now + 2 * DAY },
  };
}

/** @param reason for the operator alone */
export function backupFailed(reason: string, times: Times): Condition {
  return {
    type: 'backup.failed',
    message: `A backup failed: ${reason.slice(0, MAX_TEXT)}`,
    ...{ about: {}, figures: {}, place: 'settings', subject: 'backup', isLocal: true },
    ...again(times),
  };
}
