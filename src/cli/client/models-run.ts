import { printable } from '../../operations/batch/filename.ts';
import { readFlags } from '../command/flags.ts';
import { nameCell, printTable, type TitledColumn } from '../terminal/table.ts';
import { jsonText, print } from '../terminal/terminal.ts';
import { type CatalogEntry, readCatalog } from './catalog.ts';
import { modelsFlags } from './client-flags.ts';
import { DaemonClient } from './daemon-client.ts';

/**
 * Prints the catalog of a daemon.
 *
 * @returns the exit code
 */
export async function runModels(flags: Readonly<Record<string, unknown>>): Promise<number> {
  const { json } = readFlags(modelsFlags, flags);
  const client = new DaemonClient(flags, new AbortController().signal);
  try {
    const { document, models } = await readCatalog(client);
    if (json) {
      await print(`${jsonText(document)}\n`);
      return 0;
    }
    const rows = models.map((model) => rowOf(model).map((cell) => nameCell(printable(cell))));
    await printTable(COLUMNS, rows);
    return 0;
  } finally {
    await client.close();
  }
}

const COLUMNS: readonly TitledColumn[] = [
  { title: 'MODEL', minWidth: 20 },
  { title: 'ALIASES', minWidth: 10, dropOrder: 1 },
  { title: 'TYPE', dropOrder: 4 },
  { title: 'EFFORTS', minWidth: 10, dropOrder: 2 },
  { title: 'PRICE', minWidth: 10, dropOrder: 3 },
];

function rowOf({ id, aliases, type, efforts, pricing, tiers }: CatalogEntry): string[] {
  const price = [pricing, ...tiers]
    .flat()
    .filter(([, credits]) => credits > 0)
    .map(([unit, credits]) => {
      if (unit === 'above') return `above ${credits} tokens`;
      return `${credits} ${unit.replaceAll('_', ' ')}`;
    })
    .join(', ');
  return [id, aliases.join(',') || '-', type || '-', efforts.join(',') || '-', price || '-'];
}
