import type { Reservation } from '../../src/store/budgets.ts';
import { availableOf } from '../../src/store/credits.ts';
import type { Delivery } from '../../src/store/delivery.ts';
import {
  availableChange,
  type LedgerEntry,
  type UsageRow,
  utcDayOf,
} from '../../src/store/ledger.ts';
import type { Store } from '../../src/store/store.ts';
import { isTerminal, TASK_STATES, type Task, type TaskClaim } from '../../src/store/task.ts';

/**
 * Checks the sums and references of a whole store through its methods.
 *
 * @param holds reservations of requests in progress
 * @returns the inconsistencies, one sentence each
 */
export async function findInconsistencies(
  store: Store,
  holds: readonly Reservation[] = [],
): Promise<string[]> {
  const faults: string[] = [];
  const check = (is: unknown, expected: unknown, what: string) => {
    if (is !== expected) faults.push(`${what}: ${String(is)}, expected ${String(expected)}`);
  };
  const accounts = await store.listAccounts();
  const total = { granted: 0, reserved: 0, spent: 0 };
  for (const account of accounts) {
    const { id } = account;
    for (const sum of ['granted', 'reserved', 'spent'] as const) {
      if (!(Number.isSafeInteger(account[sum]) && account[sum] >= 0)) {
        faults.push(`${id}: ${sum} is ${account[sum]}`);
      }
      total[sum] += account[sum];
    }
    if (availableOf(account) < 0) faults.push(`${id}: ${availableOf(account)} available`);

    const held = sum(holds.filter(({ accountId }) => accountId === id).map(({ amount }) => amount));
    const tasks = await everyTask(store, id);
    check(account.reserved, held + sum(tasks.map(({ reserved }) => reserved)), `${id}: reserved`);

    const keys = await store.listKeys(id);
    check(sum(keys.map(({ reserved }) => reserved)), account.reserved, `${id}: reserved by keys`);
    check(sum(keys.map(({ spent }) => spent)), account.spent, `${id}: spent by keys`);
    for (const key of keys) {
      if (Math.min(key.reserved, key.spent) < 0) faults.push(`${key.id}: ${JSON.stringify(key)}`);
      if (key.budget !== null && key.reserved + key.spent > key.budget) {
        faults.push(`${key.id}: over its budget of ${key.budget}`);
      }
      const found = await store.findKey(key.hash);
      check(found?.key.id, key.id, `${key.id} by its hash`);
      check(found?.account.id, id, `the account of ${key.id}`);
    }

    const usage = await store.listUsage(id, { from: '0000-01-01', to: '9999-12-31' });
    check(sum(usage.map(({ spent }) => spent)), account.spent, `${id}: spent by usage`);
    // Earlier versions recorded no keys.
    const isByKey = usage.every(({ keyId }) => keyId !== undefined);
    for (const key of isByKey ? keys : []) {
      const own = usage.filter(({ keyId }) => keyId === key.id);
      check(sum(own.map(({ spent }) => spent)), key.spent, `${key.id}: spent by usage`);
    }

    const scoped = [...tasks.filter(({ status }) => !isTerminal(status)), ...holds];
    const amountOf = (one: Task | Reservation) => ('reserved' in one ? one.reserved : one.amount);
    for (const team of await store.listTeams(id)) {
      const own = usage.filter(({ teamId }) => teamId === team.id);
      check(sum(own.map(({ spent }) => spent)), team.spent, `${team.id}: spent by usage`);
      const held = scoped.filter(({ scope }) => scope?.teamId === team.id);
      check(team.reserved, sum(held.map(amountOf)), `${team.id}: reserved`);
      if (team.budget !== null && team.reserved + team.spent > team.budget) {
        faults.push(`${team.id}: over its budget of ${team.budget}`);
      }
    }
    for (const window of await store.listBudgetWindows(id)) {
      const held = scoped.filter(({ scope }) => scope?.windows.includes(window.id));
      check(window.reserved, sum(held.map(amountOf)), `${window.id}: reserved`);
      if (window.spent < 0) faults.push(`${window.id}: spent is ${window.spent}`);
    }

    const ledger = await everyEntry(store, id);
    const effects = sum(ledger.map(availableChange));
    check(effects, availableOf(account) + held, `${id}: available by the ledger`);
    if (ledger.some(({ amount }) => amount < 0)) faults.push(`${id}: an entry below zero`);
    if (!ledger.some(({ type }) => type === 'carried')) {
      const by = (...types: string[]) =>
        sum(ledger.filter(({ type }) => types.includes(type)).map(({ amount }) => amount));
      check(by('grant'), account.granted, `${id}: granted by the ledger`);
      check(by('charge'), account.spent, `${id}: spent by the ledger`);
      faults.push(...taskFaults(tasks, ledger));
      if (isByKey) faults.push(...usageFaults(usage, ledger));
    }
    check((await store.findAccount(account.name))?.id, id, `${id} by its name`);
    faults.push(...(await deliveryFaults(store, tasks)));
  }
  const tasks = await everyTask(store);
  const statistics = await store.statistics();
  check(statistics.accounts, accounts.length, 'accounts counted');
  for (const sum of ['granted', 'reserved', 'spent'] as const) {
    check(statistics.credits[sum], total[sum], `${sum} in all`);
  }
  for (const state of TASK_STATES) {
    const count = tasks.filter(({ status }) => status === state).length;
    check(statistics.tasks[state], count, `tasks counted as ${state}`);
  }
  return faults;
}

/** Usage of each day, key and model has the credits of its charges in the ledger. */
function usageFaults(usage: readonly UsageRow[], ledger: readonly LedgerEntry[]): string[] {
  const sums = new Map<string, number>();
  const add = (amount: number, ...names: readonly (string | null | undefined)[]) => {
    const name = names.join(' ');
    sums.set(name, (sums.get(name) ?? 0) + amount);
  };
  for (const { day, keyId, model, spent } of usage) add(spent, day, keyId, model);
  for (const { type, at, keyId, model, amount } of ledger) {
    if (type === 'charge') add(-amount, utcDayOf(at), keyId, model);
  }
  return [...sums].filter(([, rest]) => rest !== 0).map(([name, rest]) => `${name}: ${rest} more`);
}

/** Each reservation of a task ends as one charge, one release, or a part of each. */
function taskFaults(tasks: readonly Task[], ledger: readonly LedgerEntry[]): string[] {
  const entries = new Map<string, LedgerEntry[]>();
  for (const entry of ledger) {
    if (entry.taskId) entries.set(entry.taskId, [...(entries.get(entry.taskId) ?? []), entry]);
  }
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const faults: string[] = [];
  for (const [id, own] of entries) {
    const of = (wanted: string) => own.filter(({ type }) => type === wanted);
    const amount = (wanted: string) => sum(of(wanted).map((entry) => entry.amount));
    if (of('reserve').length !== 1 || of('charge').length > 1 || of('release').length > 1) {
      faults.push(`${id}: ${own.map(({ type }) => type).join()}`);
    }
    const task = byId.get(id);
    const ended = task === undefined || isTerminal(task.status);
    const rest = amount('reserve') - amount('charge') - amount('release');
    if (rest !== (ended ? 0 : task.reserved)) faults.push(`${id}: ${rest} still reserved`);
    if (task && amount('charge') !== task.charged) faults.push(`${id}: charged ${task.charged}`);
  }
  for (const { id, reserved, charged } of tasks) {
    if (reserved + charged > 0 && !entries.has(id)) faults.push(`${id}: not in the ledger`);
  }
  return faults;
}

/** Each task with a callback URL has one delivery after its end; other tasks have none. */
async function deliveryFaults(store: Store, tasks: readonly Task[]): Promise<string[]> {
  const faults: string[] = [];
  for (const { id, accountId, status, callbackUrl, updatedAt } of tasks) {
    const deliveries = (await store.listDeliveries(accountId, id)) ?? [];
    const expected = callbackUrl !== null && isTerminal(status) ? 1 : 0;
    if (deliveries.length !== expected) faults.push(`${id}: ${deliveries.length} deliveries`);
    for (const delivery of deliveries) {
      const { taskId, url, createdAt, attempts, nextAt } = delivery;
      if (taskId !== id || delivery.accountId !== accountId || url !== callbackUrl) {
        faults.push(`${delivery.id}: ${JSON.stringify(delivery)} of ${id}`);
      }
      if (createdAt !== updatedAt) faults.push(`${delivery.id}: of ${createdAt}, ${updatedAt}`);
      const isOpen = delivery.status === 'pending';
      if (isOpen !== (nextAt !== null)) faults.push(`${delivery.id}: next at ${nextAt}`);
      if (!isOpen && attempts.length === 0) faults.push(`${delivery.id}: ended without a try`);
    }
  }
  return faults;
}

/** The last claim of a task, by which a change is accepted; of an unknown task one without attempts. */
export async function claimOf(store: Store, id: string): Promise<TaskClaim> {
  const task = (await everyTask(store)).find((one) => one.id === id);
  return { id, attempts: task?.attempts ?? 0 };
}

/** Tasks that have not ended, oldest first. */
export async function openTasks(store: Store): Promise<Task[]> {
  return (await everyTask(store)).filter(({ status }) => !isTerminal(status)).reverse();
}

/** Pending deliveries of all tasks, in the order of their next attempts. */
export async function pendingDeliveries(store: Store): Promise<Delivery[]> {
  const pending: Delivery[] = [];
  for (const { id, accountId, callbackUrl } of (await everyTask(store)).reverse()) {
    if (callbackUrl === null) continue;
    const deliveries = (await store.listDeliveries(accountId, id)) ?? [];
    pending.push(...deliveries.filter(({ status }) => status === 'pending'));
  }
  return pending.sort((one, other) => one.nextAt! - other.nextAt!);
}

export async function everyTask(store: Store, accountId?: string): Promise<Task[]> {
  const query = accountId === undefined ? {} : { accountId };
  return everyPage(
    (after: string | undefined) =>
      store.listTasks(query, { limit: 50, ...(after !== undefined && { after }) }),
    ({ id }) => id,
  );
}

async function everyEntry(store: Store, accountId: string): Promise<LedgerEntry[]> {
  return everyPage(
    (after: number | undefined) =>
      store.listLedger(accountId, { limit: 50, ...(after !== undefined && { after }) }),
    ({ id }) => id,
  );
}

async function everyPage<Row, Id>(
  list: (after: Id | undefined) => Promise<readonly Row[]>,
  idOf: (row: Row) => Id,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const last = rows.at(-1);
    const page = await list(last && idOf(last));
    if (page.length === 0) return rows;
    rows.push(...page);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
