import { type BudgetWindow, type Payer, windowBalances } from '../store/budgets.ts';
import type { Balance } from '../store/credits.ts';
import type { Store } from '../store/store.ts';
import { budgetReached, type Condition, type Holder } from './condition.ts';

/** Keys of which the balances are read at once. */
const PART = 500;

/** Percent from which a budget that refuses a request counts as used up. */
const NEARLY_EMPTY = 80;

/** Keys that wait for a check. */
const MAX_CHARGED = 1_000_000;

/** What happened to a key since the last check. */
interface Charged {
  readonly accountId: string;
  /** Whether a request was refused because what is left does not cover it. */
  readonly isRefused: boolean;
}

/** Keys that were charged since the last check. Each charge costs one entry of a map. */
export class ChargedKeys {
  #keys = new Map<string, Charged>();

  add({ accountId, keyId }: Payer, isRefused = false): void {
    const known = this.#keys.get(keyId);
    if (known && (known.isRefused || !isRefused)) return;
    if (this.#keys.size < MAX_CHARGED) this.#keys.set(keyId, { accountId, isRefused });
  }

  /** @returns the keys by their identifiers, which are forgotten */
  take(): ReadonlyMap<string, Charged> {
    const taken = this.#keys;
    if (taken.size > 0) this.#keys = new Map();
    return taken;
  }
}

/** The methods of a store that read balances. */
export type BalanceReaders = Pick<
  Store,
  'listKeys' | 'listTeams' | 'listAccounts' | 'listBudgetWindows' | 'now'
>;

/**
 * The budgets of some keys, their teams and accounts that have reached a threshold. Their sums are those of the
 * store, which have all charges of this node, and those that other nodes have written.
 *
 * @param thresholds in percent
 */
export async function* reachedBudgets(
  store: BalanceReaders,
  charged: ReadonlyMap<string, Charged>,
  thresholds: readonly number[],
): AsyncGenerator<Condition> {
  const all = [...charged];
  for (let at = 0; at < all.length; at += PART) {
    yield* reachedBy(store, new Map(all.slice(at, at + PART)), thresholds);
  }
}

async function* reachedBy(
  store: BalanceReaders,
  charged: ReadonlyMap<string, Charged>,
  thresholds: readonly number[],
): AsyncGenerator<Condition> {
  const accountIds = [...new Set(Array.from(charged.values(), ({ accountId }) => accountId))];
  const [accounts, keys] = await Promise.all([
    store.listAccounts({ ids: accountIds }),
    store.listKeys(undefined, { ids: [...charged.keys()] }),
  ]);
  const teamIds = [...new Set(keys.flatMap(({ teamId }) => teamId ?? []))];
  const teams = teamIds.length > 0 ? await store.listTeams(undefined, { ids: teamIds }) : [];
  const holders = [...keys, ...teams].filter(({ windows }) => windows !== undefined);
  const windows =
    holders.length > 0
      ? await store.listBudgetWindows(
          undefined,
          holders.map(({ id }) => id),
        )
      : [];
  const { now } = store;
  const byId = new Map(accounts.map((account) => [account.id, account]));
  const ofHolder = new Map(holders.map(({ id }) => [id, [] as BudgetWindow[]]));
  for (const window of windows) ofHolder.get(window.holderId)?.push(window);
  const refused = keys.filter(({ id }) => charged.get(id)!.isRefused);
  const hasRefused = new Set(
    refused.flatMap(({ id, teamId, accountId }) => [id, teamId ?? [], accountId].flat()),
  );
  const reached = function* (holder: Holder, balance: Balance): Generator<Condition> {
    const { granted, spent } = balance;
    // What is left may cover no request: then nothing would ever reach the last percent.
    const isEmpty = hasRefused.has(holder.id) && spent * 100 >= granted * NEARLY_EMPTY;
    const passed = thresholds.filter((percent) => spent * 100 >= granted * (isEmpty ? 0 : percent));
    // Of several at once only the highest is raised.
    if (granted > 0 && passed.length > 0) {
      yield budgetReached(holder, balance, Math.max(...passed), now);
    }
  };
  for (const account of accounts) yield* reached({ kind: 'account', ...account, account }, account);
  for (const [kind, list] of [['key', keys] as const, ['team', teams] as const]) {
    for (const one of list) {
      const account = byId.get(one.accountId);
      if (!account) continue;
      const holder = { kind, id: one.id, name: one.name, account };
      const { budget, reserved, spent } = one;
      if (budget !== null) yield* reached(holder, { granted: budget, reserved, spent });
      for (const balance of windowBalances(one, ofHolder.get(one.id) ?? [], now)) {
        yield* reached(holder, balance);
      }
    }
  }
}
