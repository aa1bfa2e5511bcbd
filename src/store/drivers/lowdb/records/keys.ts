import type { ApiKey, KeyChange, NewKey } from '../../../account.ts';
import { conflict, notFound } from '../../../errors.ts';
import { newId } from '../../../identifier.ts';
import { changedKey, checkBudgets, createdKey } from '../../../new-records.ts';
import type { Records } from './records.ts';

/** The methods that change keys. */
export class KeyWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async createKey(key: NewKey): Promise<ApiKey> {
    this.#records.account(key.accountId);
    if (this.#records.state.keyByHash.get(key.hash)) {
      throw conflict('this key exists', 'key_exists');
    }
    this.#check(key.accountId, key);
    const transaction = this.#records.begin();
    const created = createdKey(key, { id: newId('key'), at: this.#records.now() });
    transaction.changes.push(['keys', this.#records.state.keys.newOrder(), created]);
    await this.#records.commit(transaction);
    return created;
  }

  async updateKey(keyId: string, change: KeyChange): Promise<ApiKey> {
    const { order, key } = this.#find(keyId);
    if (key.revokedAt !== null) throw conflict(`${keyId} is revoked`, 'key_revoked');
    this.#check(key.accountId, change);
    return this.#write(order, changedKey(key, change));
  }

  async revokeKey(keyId: string): Promise<ApiKey> {
    const { order, key } = this.#find(keyId);
    if (key.revokedAt === null) {
      return this.#write(order, { ...key, revokedAt: this.#records.now() });
    }
    await this.#records.commits.rowSynced('keys', order);
    return this.#records.reservations.addTo(key);
  }

  #find(keyId: string): { readonly order: number; readonly key: ApiKey } {
    const { keyById, keys } = this.#records.state;
    const order = keyById.order(keyId);
    if (order === undefined) throw notFound('key', keyId);
    return { order, key: keys.rows.get(order)! };
  }

  /** @throws Failure for an amount, a time zone or a team that cannot be */
  #check(accountId: string, change: KeyChange): void {
    checkBudgets(change);
    const { teamId } = change;
    if (typeof teamId !== 'string') return;
    const team = this.#records.state.teamById.get(teamId);
    if (team?.accountId !== accountId || team.removedAt !== null) throw notFound('team', teamId);
  }

  async #write(order: number, key: ApiKey): Promise<ApiKey> {
    const transaction = this.#records.begin();
    transaction.changes.push(['keys', order, key]);
    await this.#records.commit(transaction);
    return this.#records.reservations.addTo(key);
  }
}
