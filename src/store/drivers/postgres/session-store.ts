import { MAX_SESSIONS } from '../../account.ts';
import { notFound } from '../../errors.ts';
import type { Store } from '../../store.ts';
import { encodeText } from './database/text.ts';
import type { PostgresParts } from './parts.ts';

/** The methods that change sessions. */
export function sessionMethods({ database, now }: PostgresParts) {
  return {
    async createSession({ hash, accountId, keyId, expiresAt }) {
      const createdAt = now();
      const [account, key] = [encodeText(accountId), encodeText(keyId)];
      await database.transaction(async (connection) => {
        // Sessions of one key are created one after the other.
        const accounts = await connection.query(
          'SELECT 1 FROM $schema.accounts WHERE id = $1 FOR UPDATE',
          [account],
        );
        if (accounts.length === 0) throw notFound('account', accountId);
        const keys = await connection.query(
          'SELECT 1 FROM $schema.keys WHERE id = $1 AND account_id = $2',
          [key, account],
        );
        if (keys.length === 0) throw notFound('key', keyId);
        await connection.query('DELETE FROM $schema.sessions WHERE expires_at <= $1', [createdAt]);
        await connection.query(
          `DELETE FROM $schema.sessions WHERE hash IN (
             SELECT hash FROM $schema.sessions WHERE key_id = $1 ORDER BY seq DESC OFFSET ${MAX_SESSIONS - 1})`,
          [key],
        );
        await connection.query(
          `INSERT INTO $schema.sessions (hash, account_id, key_id, created_at, expires_at)
           VALUES ($1, $2, $3, $4, $5) ON CONFLICT (hash) DO NOTHING`,
          [encodeText(hash), account, key, createdAt, expiresAt],
        );
      });
      return { hash, accountId, keyId, expiresAt, createdAt };
    },
    async endSession(hash) {
      await database.query('DELETE FROM $schema.sessions WHERE hash = $1', [encodeText(hash)]);
    },
  } satisfies Partial<Store>;
}
