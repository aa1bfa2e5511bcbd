import type { Account, ApiKey, Team } from './account.ts';
import { type BudgetScope, type BudgetWindow, holdersOf, type Payer } from './budgets.ts';
import { availableOf, toCredits } from './credits.ts';
import { availableChange, type LedgerEntry, type UsageRow } from './ledger.ts';
import { Sums } from './sums.ts';
import { isTerminal } from './task.ts';
import type { TransferRecord } from './transfer.ts';

/** Counts and sums of a whole store. Amounts are micro-credits. */
export interface IntegrityReport {
  readonly accounts: number;
  readonly keys: number;
  readonly tasks: number;
  readonly ledgerEntries: number;
  readonly granted: number;
  readonly reserved: number;
  readonly spent: number;
  /** One sentence for each sum that does not agree with its parts. */
  readonly faults: readonly string[];
}

/** Compares every sum of a store with the records that it is the sum of. */
export async function checkIntegrity(
  records: AsyncIterable<TransferRecord>,
): Promise<IntegrityReport> {
  const check = new IntegrityCheck();
  for await (const record of records) check.add(record);
  return check.report();
}

/** What an account has reserved, spent and available by its records other than the account itself. */
interface Parts {
  /** Reservations by the account's open tasks and escrows. */
  reserved: number;
  /** The part of escrows, of which the ledger has no entries. */
  escrow: number;
  reservedByKeys: number;
  spentByKeys: number;
  /** Available credits by the ledger. */
  available: number;
}

function noParts(): Parts {
  return { reserved: 0, escrow: 0, reservedByKeys: 0, spentByKeys: 0, available: 0 };
}

class IntegrityCheck {
  readonly #accounts = new Map<string, { readonly account: Account; readonly parts: Parts }>();
  readonly #holders = new Map<string, ApiKey | Team | BudgetWindow>();
  /** Reservations of open tasks and escrows, by key, team and window. */
  readonly #reserved = new Sums();
  /** Spent credits by the usage of keys and teams, and by the days of which there is usage. */
  readonly #usage = new Sums();
  /** What the ledger says that a task has reserved. */
  readonly #ledgerOfTasks = new Sums();
  readonly #reservedOfTasks = new Sums();
  readonly #faults: string[] = [];
  #keys = 0;
  #tasks = 0;
  #ledgerEntries = 0;

  add(record: TransferRecord): void {
    switch (record.kind) {
      case 'account':
        this.#accounts.set(record.row.id, { account: record.row, parts: noParts() });
        break;
      case 'key':
        this.#addKey(record.row);
        break;
      case 'team':
      case 'window':
        this.#holders.set(record.row.id, record.row);
        break;
      case 'usage':
        this.#addUsage(record.row);
        break;
      case 'ledger':
        this.#addEntry(record.row);
        break;
      case 'escrow':
        this.#addReserved(record.payer, record.payer.scope, record.amount);
        this.#partsOf(record.payer.accountId, 'an escrow').escrow += record.amount;
        break;
      case 'task': {
        const { id, status, reserved, scope } = record.row;
        this.#tasks += 1;
        if (!isTerminal(status)) {
          this.#addReserved(record.row, scope, reserved);
          this.#reservedOfTasks.add(id, reserved);
        } else if (reserved !== 0) this.#faults.push(`task ${id} has ended with a reservation`);
      }
    }
  }

  report(): IntegrityReport {
    const sums = { granted: 0, reserved: 0, spent: 0 };
    for (const { account, parts } of this.#accounts.values()) {
      for (const sum of ['granted', 'reserved', 'spent'] as const) sums[sum] += account[sum];
      this.#checkAccount(account, parts);
    }
    for (const holder of this.#holders.values()) this.#checkHolder(holder);
    this.#checkLedgerOfTasks();
    return {
      accounts: this.#accounts.size,
      keys: this.#keys,
      tasks: this.#tasks,
      ledgerEntries: this.#ledgerEntries,
      ...sums,
      faults: this.#faults,
    };
  }

  #addKey(key: ApiKey): void {
    this.#keys += 1;
    this.#holders.set(key.id, key);
    const parts = this.#partsOf(key.accountId, `key ${key.id}`);
    parts.reservedByKeys += key.reserved;
    parts.spentByKeys += key.spent;
  }

  #addUsage({ keyId, teamId, spent }: UsageRow): void {
    // Earlier versions recorded no keys.
    if (keyId !== undefined) this.#usage.add(keyId, spent);
    if (teamId !== undefined) this.#usage.add(teamId, spent);
  }

  #addEntry(entry: LedgerEntry): void {
    this.#ledgerEntries += 1;
    const { id, accountId, type, amount, taskId } = entry;
    this.#partsOf(accountId, `ledger entry ${id}`).available += availableChange(entry);
    if (amount < 0) this.#faults.push(`ledger entry ${id} is below zero`);
    if (taskId !== null) this.#ledgerOfTasks.add(taskId, type === 'reserve' ? amount : -amount);
  }

  #addReserved({ accountId, keyId }: Payer, scope: BudgetScope | undefined, amount: number): void {
    this.#partsOf(accountId, `a reservation of ${keyId}`).reserved += amount;
    for (const id of holdersOf({ accountId, keyId, scope })) this.#reserved.add(id, amount);
  }

  #partsOf(accountId: string, what: string): Parts {
    const known = this.#accounts.get(accountId);
    if (known) return known.parts;
    this.#faults.push(`${what}: there is no account ${accountId}`);
    return noParts();
  }

  #checkAccount(account: Account, parts: Parts): void {
    const name = `account ${account.id}`;
    this.#compare(`${name}: reserved`, account.reserved, parts.reserved);
    this.#compare(`${name}: reserved by its keys`, parts.reservedByKeys, account.reserved);
    this.#compare(`${name}: spent by its keys`, parts.spentByKeys, account.spent);
    const available = availableOf(account) + parts.escrow;
    this.#compare(`${name}: available by its ledger`, parts.available, available);
    if (availableOf(account) < 0) this.#faults.push(`${name} has less than 0 credits available`);
  }

  #checkHolder(holder: ApiKey | Team | BudgetWindow): void {
    const { id, reserved, spent } = holder;
    this.#compare(`${id}: reserved`, reserved, this.#reserved.of(id));
    if (spent < 0) this.#faults.push(`${id}: spent is below zero`);
    // Old usage is deleted.
    const used = this.#usage.of(id);
    if (used > spent) this.#compare(`${id}: spent`, spent, used);
  }

  /** The oldest entries are folded: of a task whose reservation went with them only the end is left. */
  #checkLedgerOfTasks(): void {
    for (const [taskId, amount] of this.#ledgerOfTasks) {
      const reserved = this.#reservedOfTasks.of(taskId);
      if (amount > reserved) this.#compare(`task ${taskId}: reserved`, reserved, amount);
    }
  }

  #compare(what: string, is: number, expected: number): void {
    if (is === expected) return;
    this.#faults.push(`${what}: ${toCredits(is)} credits, expected ${toCredits(expected)}`);
  }
}
