import { Failure } from '../../failure.ts';
import { listOf, objectOf, textOf } from '../../schema/untrusted.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { type Columns, printTable } from '../terminal/table.ts';
import { printJson } from '../terminal/terminal.ts';
import { modelsFlags } from './client-flags.ts';
import type { DaemonClient } from './daemon-client.ts';
import { inSession } from './session.ts';

/** The properties of a model that are printed or needed here. */
export type CatalogEntry = ReturnType<typeof entryOf>;

/** `above`, of a tier, is a number of tokens. */
type Price = readonly [unit: string, credits: number];

function pricesOf(value: unknown): readonly Price[] {
  return Object.entries(objectOf(value)).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
}

/** @throws Failure if the response has no list of models */
export async function readCatalog(
  client: DaemonClient,
  query = '',
): Promise<{ document: object; models: CatalogEntry[] }> {
  const { document, data } = await client.list(`/v1/models${query}`, 'models');
  const isModel = (value: unknown) => typeof objectOf(value)['id'] === 'string';
  return { document, models: data.filter(isModel).map(entryOf) };
}

function entryOf(value: unknown) {
  const { id, type, aliases, capability_metadata, pricing, pricing_tiers } = objectOf(value);
  const { supported_efforts } = objectOf(objectOf(capability_metadata)['reasoning']);
  return {
    id: textOf(id),
    /** Empty if the daemon does not state it. */
    type: textOf(type),
    aliases: listOf(aliases).map(String),
    efforts: listOf(supported_efforts).map(String),
    prices: [pricesOf(pricing), ...listOf(pricing_tiers).map(pricesOf)].flat(),
  };
}

/** Names of the models that `oriel chat` may talk to; the first is its default. @throws Failure if there is none */
export async function textModels(client: DaemonClient): Promise<readonly [string, ...string[]]> {
  const { models } = await readCatalog(client);
  const [first, ...others] = models
    .filter(({ type }) => type === 'text' || type === '')
    .map(({ id }) => id);
  if (first === undefined) {
    throw new Failure('invalid_request', `${client.url} has no text model for this key`);
  }
  return [first, ...others];
}

/** @throws Failure if the daemon has no such model for this key */
export async function requireModel(client: DaemonClient, name: string): Promise<CatalogEntry> {
  return entryOf(await client.json(`/v1/models/${encodeURIComponent(name)}`));
}

/** Prints the catalog of a daemon. */
export async function runModels({ flags }: CommandInput): Promise<number> {
  const { json } = readFlags(modelsFlags, flags);
  return inSession(flags, async ({ client }) => {
    const { document, models } = await readCatalog(client, '?return_wildcard_routes=true');
    if (json) await printJson(document);
    else await printTable(COLUMNS, models);
    return 0;
  });
}

const COLUMNS: Columns<CatalogEntry> = {
  MODEL: [({ id }) => id, { minWidth: 20 }],
  ALIASES: [({ aliases }) => aliases.join(',') || '-', { minWidth: 10, dropOrder: 1 }],
  TYPE: [({ type }) => type || '-', { dropOrder: 4 }],
  EFFORTS: [({ efforts }) => efforts.join(',') || '-', { minWidth: 10, dropOrder: 2 }],
  PRICE: [priceText, { minWidth: 10, dropOrder: 3 }],
};

function priceText({ prices }: CatalogEntry): string {
  const texts = prices
    .filter(([, credits]) => credits > 0)
    .map(([unit, credits]) =>
      unit === 'above' ? `above ${credits} tokens` : `${credits} ${unit.replaceAll('_', ' ')}`,
    );
  return texts.join(', ') || '-';
}
