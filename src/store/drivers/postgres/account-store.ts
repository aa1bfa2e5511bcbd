import type { Account, ApiKey, Plan, Team } from '../../account.ts';
import type { BudgetWindow } from '../../budgets.ts';
import type { StoreStatistics } from '../../health.ts';
import type { LedgerEntry, UsageRow } from '../../ledger.ts';
import type { Selection } from '../../selection.ts';
import type { NewSession, Session } from '../../session.ts';
import type {
  KeyChange,
  KeyHolder,
  NewAccount,
  NewKey,
  NewTeam,
  Page,
  TeamChange,
  TimeRange,
} from '../../store.ts';
import type { Bank } from './bank.ts';
import { closed, type Database } from './database/database.ts';
import type { ChargeLog } from './escrow/charge-log.ts';
import type { Escrows } from './escrow/escrows.ts';
import type { Events } from './events.ts';
import type { NodeLease } from './nodes.ts';
import { createAccount, grantCredits, rotateSecret, setPlan } from './operations/accounts.ts';
import {
  createKey,
  createTeam,
  removeTeam,
  revokeKey,
  updateKey,
  updateTeam,
} from './operations/keys.ts';
import { compactLedger, deleteUsage } from './operations/retention.ts';
import { createSession, endSession } from './operations/sessions.ts';
import type { KeyCache } from './readers/key-cache.ts';
import type { Reader } from './readers/reader.ts';
import type { Operation, Transactions } from './transactions/transactions.ts';

/** What the driver is made of. `open.ts` makes it. */
export interface PostgresParts {
  readonly database: Database;
  readonly transactions: Transactions;
  readonly reader: Reader;
  readonly lease: NodeLease;
  readonly events: Events;
  readonly bank: Bank;
  readonly keys: KeyCache;
  readonly escrows: Escrows;
  readonly log: ChargeLog;
  readonly now: () => number;
  readonly onFault: (error: unknown) => void;
  /** Ends the use of the folder. */
  readonly release: () => Promise<void>;
}

/** The methods on accounts, keys, sessions, teams and what they have spent. */
export class AccountStore {
  protected readonly parts: PostgresParts;
  /** Hashes of keys by their identifiers; neither changes. */
  protected readonly hashes = new Map<string, string>();
  protected closing: Promise<void> | null = null;

  constructor(parts: PostgresParts) {
    this.parts = parts;
  }

  protected run<Result>(operation: Operation<Result>): Promise<Result> {
    return this.parts.transactions.run(operation);
  }

  get now(): number {
    return this.parts.now();
  }

  /** The queries, after everything that this node has charged is in the database. */
  protected async reader(): Promise<Reader> {
    if (this.closing) throw closed();
    await this.parts.escrows.flush();
    return this.parts.reader;
  }

  /** Runs a change of a key, a team or an account that nodes keep in memory. */
  protected async change<Result extends { readonly id: string; readonly reserved: number }>(
    operation: Operation<Result>,
    accountOf: (result: Result) => string,
  ): Promise<Result> {
    const { keys, escrows, events } = this.parts;
    const result = await this.run(operation);
    const accountId = accountOf(result);
    keys.forget([accountId]);
    events.send({ kind: 'keys', accounts: [accountId] });
    const shown = result.reserved === 0 ? result : await this.parts.reader.withoutIdle(result);
    // What was drawn in advance may be above a budget that was lowered.
    await escrows.returnFree(accountId);
    escrows.changed(accountId);
    return shown;
  }

  async createAccount(account: NewAccount): Promise<Account> {
    return this.run(createAccount(account, this.now));
  }

  async findAccount(idOrName: string): Promise<Account | undefined> {
    return (await this.reader()).findAccount(idOrName);
  }

  async listAccounts(selection?: Selection): Promise<readonly Account[]> {
    return (await this.reader()).listAccounts(selection);
  }

  async grant(accountId: string, amount: number, note?: string): Promise<Account> {
    // The ledger has charges from before the grant before it.
    await this.parts.escrows.flush();
    const operation = grantCredits(accountId, amount, { note, at: this.now });
    return await this.change(operation, ({ id }) => id);
  }

  async setPlan(accountId: string, plan: Plan): Promise<Account> {
    return await this.change(setPlan(accountId, plan), ({ id }) => id);
  }

  async rotateCallbackSecret(accountId: string, dropPrevious: boolean): Promise<Account> {
    const operation = rotateSecret(accountId, dropPrevious, this.now);
    return await this.change(operation, ({ id }) => id);
  }

  createKey(key: NewKey): Promise<ApiKey> {
    return this.change(createKey(key, this.now), ({ accountId }) => accountId);
  }

  async updateKey(keyId: string, change: KeyChange): Promise<ApiKey> {
    return await this.change(updateKey(keyId, change), ({ accountId }) => accountId);
  }

  async revokeKey(keyId: string): Promise<ApiKey> {
    const operation = revokeKey(keyId, this.now);
    return await this.change(operation, ({ accountId }) => accountId);
  }

  async findKey(hash: string): Promise<KeyHolder | undefined> {
    if (this.closing) throw closed();
    const found = await this.parts.keys.find(hash);
    if (found) this.hashes.set(found.key.id, hash);
    return found && { key: found.key, account: found.account };
  }

  async listKeys(accountId?: string, selection?: Selection): Promise<readonly ApiKey[]> {
    return (await this.reader()).listKeys(accountId, selection);
  }

  async matchKeys(text: string, limit: number): Promise<readonly ApiKey[]> {
    return (await this.reader()).matchKeys(text, limit);
  }

  countKeys(teams: readonly Team[]): Promise<ReadonlyMap<string, number>> {
    return this.parts.reader.countKeys(teams);
  }

  createSession(session: NewSession): Promise<Session> {
    return createSession(this.parts.database, session, this.now);
  }

  async findSession(
    hash: string,
  ): Promise<{ readonly session: Session; readonly holder: KeyHolder } | undefined> {
    const found = await this.parts.reader.findSession(hash, this.now);
    const holder = found && (await this.findKey(found.keyHash));
    return holder && { session: found.session, holder };
  }

  endSession(hash: string): Promise<void> {
    return endSession(this.parts.database, hash);
  }

  createTeam(team: NewTeam): Promise<Team> {
    return this.change(createTeam(team, this.now), ({ accountId }) => accountId);
  }

  async listTeams(accountId?: string, selection?: Selection): Promise<readonly Team[]> {
    return (await this.reader()).listTeams(accountId, selection);
  }

  async updateTeam(teamId: string, change: TeamChange): Promise<Team> {
    const operation = updateTeam(teamId, change);
    return await this.change(operation, ({ accountId }) => accountId);
  }

  async removeTeam(teamId: string): Promise<Team> {
    const operation = removeTeam(teamId, this.now);
    return await this.change(operation, ({ accountId }) => accountId);
  }

  async listBudgetWindows(
    accountId?: string,
    holderIds?: readonly string[],
  ): Promise<readonly BudgetWindow[]> {
    return (await this.reader()).listBudgetWindows(accountId, holderIds);
  }

  async listLedger(accountId: string, page: Page<number>): Promise<readonly LedgerEntry[]> {
    return (await this.reader()).listLedger(accountId, page);
  }

  async listUsage(
    accountId: string | undefined,
    days: { readonly from: string; readonly to: string },
  ): Promise<readonly UsageRow[]> {
    return (await this.reader()).listUsage(accountId, days);
  }

  async compactLedger(
    accountId: string,
    limits: { before?: number; lines: number },
  ): Promise<void> {
    await this.reader();
    await compactLedger(this.parts.database, accountId, limits);
  }

  async deleteUsage(before: string): Promise<number> {
    await this.reader();
    return deleteUsage(this.parts.database, before);
  }

  timeRange(): Promise<TimeRange | null> {
    return this.parts.reader.timeRange();
  }

  async statistics(): Promise<StoreStatistics> {
    return (await this.reader()).statistics();
  }
}
