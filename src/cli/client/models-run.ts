import { printable } from '../../operations/filename.ts';
import { readFlags } from '../flags.ts';
import { jsonText } from '../json.ts';
import { Table } from '../table.ts';
import { print } from '../terminal.ts';
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
    const table = new Table();
    await table.add(['MODEL', 'ALIASES', 'TYPE', 'EFFORTS', 'PRICE'].map((text) => ({ text })));
    for (const model of models) {
      await table.add(rowOf(model).map((cell) => ({ text: printable(cell) })));
    }
    await table.flush();
    return 0;
  } finally {
    await client.close();
  }
}

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
