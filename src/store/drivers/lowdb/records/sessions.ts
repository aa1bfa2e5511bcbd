import type { NewSession, Session } from '../../../account.ts';
import type { Records } from './records.ts';

/** Sessions of one key; the oldest ends where one more begins. */
const MAX_SESSIONS = 50;

/** The methods that change sessions. */
export class SessionWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async createSession(created: NewSession): Promise<Session> {
    this.#records.holder(created);
    const { sessions, sessionsOfKey } = this.#records.state;
    const now = this.#records.now();
    const transaction = this.#records.begin();
    for (const [order, { expiresAt }] of sessions.rows) {
      if (expiresAt <= now) transaction.changes.push(['sessions', order, null]);
    }
    const open = [...sessionsOfKey.oldest(created.keyId)].filter(
      ([, { expiresAt }]) => expiresAt > now,
    );
    for (const [order] of open.slice(0, Math.max(0, open.length - MAX_SESSIONS + 1))) {
      transaction.changes.push(['sessions', order, null]);
    }
    const { hash, accountId, keyId, expiresAt } = created;
    const session: Session = { hash, accountId, keyId, expiresAt, createdAt: now };
    transaction.changes.push(['sessions', sessions.newOrder(), session]);
    await this.#records.commit(transaction);
    return session;
  }

  async endSession(hash: string): Promise<void> {
    const order = this.#records.state.sessionByHash.order(hash);
    if (order === undefined) return;
    const transaction = this.#records.begin();
    transaction.changes.push(['sessions', order, null]);
    await this.#records.commit(transaction);
  }
}
