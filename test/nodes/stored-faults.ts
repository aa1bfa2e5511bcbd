import { openPostgresStore } from '../../src/store/drivers/postgres/open.ts';
import { checkIntegrity } from '../../src/store/integrity.ts';
import type { PostgresServer } from '../engines/postgres.ts';
import { temporaryFolder } from '../oriel.ts';

/** What the store of nodes that have ended says of itself. */
export async function storedFaults(url: string): Promise<readonly string[]> {
  const store = await openPostgresStore({
    directory: temporaryFolder(),
    url,
    poolSize: 4,
    schema: 'oriel',
  });
  try {
    const { faults, reserved } = await checkIntegrity(store.transfer.read());
    return reserved === 0 ? faults : [...faults, `${reserved} micro-credits are still reserved`];
  } finally {
    await store.close();
  }
}

/** What speaks against one end of each task, by the tables of a store whose nodes have ended. */
export function repeatedEnds({ sql }: PostgresServer): string[] {
  const lines = sql(`
    SELECT task_id || ' has ' || count(*) || ' entries ' || type FROM oriel.ledger
    WHERE task_id IS NOT NULL GROUP BY task_id, type HAVING count(*) > 1`);
  return lines.split('\n').filter((line) => line !== '');
}

/** Attempts at each task: nodes that have begun it. */
export function attemptsOf({ sql }: PostgresServer): Map<string, number> {
  const lines = sql('SELECT id, attempts FROM oriel.tasks').trim().split('\n');
  return new Map(
    lines.map((line) => {
      const [id, attempts] = line.split('|');
      return [id!, Number(attempts)];
    }),
  );
}

/** Credits that nodes which have ended have not returned. */
export function lostEscrows({ sql }: PostgresServer): string[] {
  const escrows = sql('SELECT id, amount FROM oriel.escrows');
  const held = sql('SELECT name, held FROM oriel.accounts WHERE held <> 0');
  return `${escrows}${held}`.split('\n').filter((line) => line !== '');
}
