import type { CachedAnswer, CacheStorage } from '../../cache-storage.ts';
import type { Database } from './database/database.ts';
import { decodeText, encodeText } from './database/text.ts';
import type { FairReads } from './readers/fair-reads.ts';

interface CacheTableOptions {
  readonly database: Database;
  readonly reads: FairReads;
  readonly now: () => number;
}

interface CacheRow {
  readonly model: string;
  readonly stored_at: number;
  readonly expires_at: number;
  readonly exchange: string;
}

/** Cached answers that all nodes share. */
export function cacheTable({ database, reads, now }: CacheTableOptions): CacheStorage {
  return {
    async find(accountId, key): Promise<CachedAnswer | undefined> {
      const [row] = await reads.query<CacheRow>(
        accountId,
        `SELECT model, stored_at, expires_at, exchange FROM $schema.cached_answers
         WHERE account_id = $1 AND key = $2`,
        [encodeText(accountId), key],
      );
      if (row === undefined) return undefined;
      const times = { storedAt: Number(row.stored_at), expiresAt: Number(row.expires_at) };
      return { accountId, key, model: decodeText(row.model), ...times, text: row.exchange };
    },
    async add({ accountId, key, model, storedAt, expiresAt, text }) {
      await database.query(
        `INSERT INTO $schema.cached_answers
           (account_id, key, model, stored_at, expires_at, used_at, bytes, exchange)
         VALUES ($1, $2, $3, $4, $5, $4, $6, $7)
         ON CONFLICT (account_id, key) DO UPDATE SET
           model = excluded.model, stored_at = excluded.stored_at, expires_at = excluded.expires_at,
           used_at = excluded.used_at, bytes = excluded.bytes, exchange = excluded.exchange`,
        [
          ...[encodeText(accountId), key, encodeText(model), storedAt, expiresAt],
          ...[Buffer.byteLength(text), text],
        ],
      );
    },
    async touch(accountId, key) {
      await database.query(
        'UPDATE $schema.cached_answers SET used_at = $3 WHERE account_id = $1 AND key = $2',
        [encodeText(accountId), key, now()],
      );
    },
    async trim(sizes) {
      await database.query('DELETE FROM $schema.cached_answers WHERE expires_at <= $1', [now()]);
      const sums = await database.query<{ readonly model: string; readonly bytes: string }>(
        'SELECT model, sum(bytes)::text AS bytes FROM $schema.cached_answers GROUP BY model',
      );
      for (const { model, bytes } of sums) {
        const most = sizes.get(decodeText(model)) ?? 0;
        if (Number(bytes) <= most) continue;
        await database.query(
          `DELETE FROM $schema.cached_answers WHERE (account_id, key) IN (
             SELECT account_id, key FROM (
               SELECT account_id, key, sum(bytes) OVER (ORDER BY used_at DESC, account_id, key) AS total
               FROM $schema.cached_answers WHERE model = $1
             ) AS used WHERE total > $2
           )`,
          [model, most],
        );
      }
    },
  };
}
