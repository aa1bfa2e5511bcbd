import type { Account, NewAccount, Plan } from '../../../account.ts';
import { conflict } from '../../../errors.ts';
import { grant } from '../../../funds.ts';
import { newId } from '../../../identifier.ts';
import { createdAccount, withNewSecret } from '../../../new-records.ts';
import type { Records } from './records.ts';

/** The methods that change accounts. */
export class AccountWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async createAccount(account: NewAccount): Promise<Account> {
    const { name } = account;
    // An account whose name is another's identifier could never be found by it.
    if (this.#records.state.accountByName.get(name) ?? this.#records.state.accountById.get(name)) {
      throw conflict(`there is an account ${JSON.stringify(name)} already`, 'account_exists');
    }
    const transaction = this.#records.begin();
    const created = createdAccount(account, { id: newId('acct'), at: this.#records.now() });
    transaction.changes.push(['accounts', this.#records.state.accounts.newOrder(), created]);
    transaction.entry(created, { type: 'grant', amount: account.credits });
    await this.#records.commit(transaction);
    return created;
  }

  async grant(accountId: string, amount: number, note?: string): Promise<Account> {
    const account = grant(this.#records.account(accountId), amount);
    const transaction = this.#records.begin();
    transaction.account(account);
    transaction.entry(account, { type: 'grant', amount, note: note ?? null });
    await this.#records.commit(transaction);
    return this.#records.reservations.addTo(account);
  }

  async setPlan(accountId: string, plan: Plan): Promise<Account> {
    const account = { ...this.#records.account(accountId), plan };
    const transaction = this.#records.begin();
    transaction.account(account);
    await this.#records.commit(transaction);
    return this.#records.reservations.addTo(account);
  }

  async rotateCallbackSecret(accountId: string, dropPrevious: boolean): Promise<Account> {
    const former = this.#records.account(accountId);
    const account = withNewSecret(former, dropPrevious, this.#records.now());
    const transaction = this.#records.begin();
    transaction.account(account);
    await this.#records.commit(transaction);
    return this.#records.reservations.addTo(account);
  }
}
