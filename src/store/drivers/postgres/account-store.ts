import type {
  Account,
  ApiKey,
  KeyChange,
  NewAccount,
  NewKey,
  NewTeam,
  Plan,
  Team,
  TeamChange,
} from '../../account.ts';
import { createAccount, grantCredits, rotateSecret, setPlan } from './operations/accounts.ts';
import {
  createKey,
  createTeam,
  removeTeam,
  revokeKey,
  updateKey,
  updateTeam,
} from './operations/keys.ts';
import { StorePart } from './store-part.ts';
import type { Operation } from './transactions/transactions.ts';

/** The methods that change accounts, keys and teams. */
export class AccountStore extends StorePart {
  /** Runs a change of a key, a team or an account that nodes keep in memory. */
  async #change<Result extends { readonly id: string; readonly reserved: number }>(
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

  async grant(accountId: string, amount: number, note?: string): Promise<Account> {
    // The ledger has charges from before the grant before it.
    await this.parts.escrows.flush();
    const operation = grantCredits(accountId, amount, { note, at: this.now });
    return await this.#change(operation, ({ id }) => id);
  }

  async setPlan(accountId: string, plan: Plan): Promise<Account> {
    return await this.#change(setPlan(accountId, plan), ({ id }) => id);
  }

  async rotateCallbackSecret(accountId: string, dropPrevious: boolean): Promise<Account> {
    const operation = rotateSecret(accountId, dropPrevious, this.now);
    return await this.#change(operation, ({ id }) => id);
  }

  createKey(key: NewKey): Promise<ApiKey> {
    return this.#change(createKey(key, this.now), ({ accountId }) => accountId);
  }

  async updateKey(keyId: string, change: KeyChange): Promise<ApiKey> {
    return await this.#change(updateKey(keyId, change), ({ accountId }) => accountId);
  }

  async revokeKey(keyId: string): Promise<ApiKey> {
    const operation = revokeKey(keyId, this.now);
    return await this.#change(operation, ({ accountId }) => accountId);
  }

  createTeam(team: NewTeam): Promise<Team> {
    return this.#change(createTeam(team, this.now), ({ accountId }) => accountId);
  }

  async updateTeam(teamId: string, change: TeamChange): Promise<Team> {
    const operation = updateTeam(teamId, change);
    return await this.#change(operation, ({ accountId }) => accountId);
  }

  async removeTeam(teamId: string): Promise<Team> {
    const operation = removeTeam(teamId, this.now);
    return await this.#change(operation, ({ accountId }) => accountId);
  }
}
