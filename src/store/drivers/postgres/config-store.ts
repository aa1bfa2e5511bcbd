import type { ConfigEntry } from '../../config-entry.ts';
import type { Store } from '../../store.ts';
import type { Connection } from './database/database.ts';
import { encodeText } from './database/text.ts';
import { checkOpen, type PostgresParts } from './parts.ts';

/** The methods for providers and models that commands have added. */
export function configMethods(parts: PostgresParts) {
  const { database, events } = parts;
  return {
    async listConfigEntries() {
      checkOpen(parts);
      return database.transaction(readEntries);
    },
    async changeConfigEntry(kind, name, change) {
      checkOpen(parts);
      // Kept for a removal that runs again after its commit, whose answer was lost.
      let removed: ConfigEntry | undefined;
      const changed = await database.transaction(async (connection) => {
        // Readers do not wait for it. All changes do, because each decides by all entries.
        await connection.query('LOCK TABLE $schema.config_entries IN EXCLUSIVE MODE');
        const entries = await readEntries(connection);
        const before = entries.find((entry) => entry.kind === kind && entry.name === name);
        if (removed && !before) return removed;
        const next = change(entries);
        if (next === null) {
          await connection.query(
            'DELETE FROM $schema.config_entries WHERE kind = $1 AND name = $2',
            [kind, encodeText(name)],
          );
          removed = before;
        } else await writeEntry(connection, next);
        return (next ?? before)!;
      });
      events.send({ kind: 'config' });
      return changed;
    },
  } satisfies Partial<Store>;
}

export async function readEntries(connection: Connection): Promise<readonly ConfigEntry[]> {
  const rows = await connection.query<{ readonly record: ConfigEntry }>(
    'SELECT record FROM $schema.config_entries ORDER BY seq',
  );
  return rows.map(({ record }) => record);
}

export async function writeEntry(connection: Connection, entry: ConfigEntry): Promise<void> {
  await connection.query(
    `INSERT INTO $schema.config_entries (kind, name, record) VALUES ($1, $2, $3)
     ON CONFLICT (kind, name) DO UPDATE SET record = excluded.record`,
    [entry.kind, encodeText(entry.name), JSON.stringify(entry)],
  );
}
