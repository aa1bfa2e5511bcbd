import type { NewSession, Session } from '../../account.ts';
import { notFound } from '../../errors.ts';
import { encodeText } from './database/text.ts';
import { StorePart } from './store-part.ts';

/** Sessions of one key; the oldest ends where one more begins. */
const MAX_SESSIONS = 50;

/** The methods that change sessions. */
export class SessionStore extends StorePart {
  /** Creates a session. Expired ones are deleted, and the oldest of the key if it has too many. */
  async createSession(created: NewSession): Promise<Session> {
    const { hash, accountId, keyId, expiresAt } = created;
    const createdAt = this.now;
    await this.parts.database.transaction(async (connection) => {
      // Sessions of one key are created one after the other.
      const [account] = await connection.query(
        'SELECT 1 FROM $schema.accounts WHERE id = $1 FOR UPDATE',
        [encodeText(accountId)],
      );
      if (!account) throw notFound('account', accountId);
      const [key] = await connection.query(
        'SELECT 1 FROM $schema.keys WHERE id = $1 AND account_id = $2',
        [encodeText(keyId), encodeText(accountId)],
      );
      if (!key) throw notFound('key', keyId);
      await connection.query('DELETE FROM $schema.sessions WHERE expires_at <= $1', [createdAt]);
      await connection.query(
        `DELETE FROM $schema.sessions WHERE hash IN (
           SELECT hash FROM $schema.sessions WHERE key_id = $1 ORDER BY seq DESC OFFSET ${MAX_SESSIONS - 1})`,
        [encodeText(keyId)],
      );
      await connection.query(
        `INSERT INTO $schema.sessions (hash, account_id, key_id, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (hash) DO NOTHING`,
        [encodeText(hash), encodeText(accountId), encodeText(keyId), createdAt, expiresAt],
      );
    });
    return { hash, accountId, keyId, expiresAt, createdAt };
  }

  /** Ends a session. Ending an unknown one changes nothing. */
  async endSession(hash: string): Promise<void> {
    await this.parts.database.query('DELETE FROM $schema.sessions WHERE hash = $1', [
      encodeText(hash),
    ]);
  }
}
