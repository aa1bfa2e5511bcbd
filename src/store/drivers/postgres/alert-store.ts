import {
  type Alert,
  CLAIM_KEPT_MS,
  decideAlerts,
  type HeldClaim,
  MAX_ALERTS,
} from '../../alert.ts';
import type { Store } from '../../store.ts';
import { rowStatement } from './database/arrays.ts';
import { encodeText } from './database/text.ts';
import { checkOpen, type PostgresParts } from './parts.ts';
import { fieldsOf, insertInto } from './transactions/table.ts';

const CLAIMS = fieldsOf<HeldClaim>({
  subject: ['text', 'subject', 'encoded'],
  span: ['text', 'window', 'encoded'],
  level: ['bigint', 'level'],
  until: ['bigint', 'until'],
  id: ['text', 'id'],
  at: ['bigint', 'at'],
});

const upsertClaims = rowStatement(
  CLAIMS.columns,
  (relation) => `${insertInto('alert_claims')(relation)}
ON CONFLICT (subject) DO UPDATE SET span = excluded.span, level = excluded.level,
  until = excluded.until, id = excluded.id, at = excluded.at`,
);

/** The methods for alerts. */
export function alertMethods(parts: PostgresParts) {
  const { database, now } = parts;
  return {
    async raiseAlerts(requests) {
      checkOpen(parts);
      const subjects = requests.map(({ subject }) => encodeText(subject));
      return database.transaction(async (connection) => {
        // All nodes see the same alert at about the same time: the first one raises it.
        await connection.query('LOCK TABLE $schema.alert_claims IN EXCLUSIVE MODE');
        const rows = await connection.query(
          'SELECT * FROM $schema.alert_claims WHERE subject = ANY($1::text[])',
          [subjects],
        );
        const held = new Map(rows.map(CLAIMS.read).map((claim) => [claim.subject, claim]));
        const decision = decideAlerts(requests, (subject) => held.get(subject), now());
        const { raised, added, claims, changed } = decision;
        if (added.length === 0) return { raised, claims };
        const { text, values } = upsertClaims(changed);
        await connection.query(text, values);
        await connection.query(
          'INSERT INTO $schema.alerts (record) SELECT r::json FROM unnest($1::text[]) AS r',
          [added.map((alert) => JSON.stringify(alert))],
        );
        await connection.query(
          `DELETE FROM $schema.alerts WHERE seq <=
             (SELECT seq FROM $schema.alerts ORDER BY seq DESC OFFSET ${MAX_ALERTS} LIMIT 1)`,
        );
        await connection.query('DELETE FROM $schema.alert_claims WHERE until <= $1', [
          now() - CLAIM_KEPT_MS,
        ]);
        return { raised, claims };
      });
    },
    async listAlerts(limit) {
      checkOpen(parts);
      const rows = await database.query<{ readonly record: Alert }>(
        'SELECT record FROM $schema.alerts ORDER BY seq DESC LIMIT $1',
        [limit],
      );
      return rows.map(({ record }) => record);
    },
  } satisfies Partial<Store>;
}
