import { Failure } from '../../failure.ts';
import { objectOf } from '../../schema/untrusted.ts';
import type { DaemonClient } from './daemon-client.ts';

/** The properties of a model that are printed or needed here. */
export interface CatalogEntry {
  readonly id: string;
  /** Empty where the daemon does not state it. */
  readonly type: string;
  readonly aliases: readonly string[];
  readonly efforts: readonly string[];
  readonly pricing: readonly Price[];
  readonly tiers: readonly (readonly Price[])[];
}

/** `above`, of a tier, is a number of tokens. */
type Price = readonly [unit: string, credits: number];

function pricesOf(value: unknown): readonly Price[] {
  return Object.entries(objectOf(value)).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number',
  );
}

/** @throws Failure where the response has no list of models */
export async function readCatalog(
  client: DaemonClient,
): Promise<{ document: object; models: CatalogEntry[] }> {
  const document = objectOf(await client.json('/v1/models'));
  const { data } = document;
  if (!Array.isArray(data)) {
    throw new Failure(
      'service_error',
      `${client.url}/v1/models: expected a list of models in the response`,
    );
  }
  return { document, models: (data as unknown[]).flatMap(entryOf) };
}

function entryOf(value: unknown): CatalogEntry[] {
  const { id, type, aliases, capability_metadata, pricing, pricing_tiers: tiers } = objectOf(value);
  if (typeof id !== 'string') return [];
  const { supported_efforts } = objectOf(objectOf(capability_metadata)['reasoning']);
  const efforts = Array.isArray(supported_efforts) ? (supported_efforts as unknown[]) : [];
  return [
    {
      id,
      type: typeof type === 'string' ? type : '',
      aliases: Array.isArray(aliases) ? aliases.map(String) : [],
      efforts: efforts.map(String),
      pricing: pricesOf(pricing),
      tiers: Array.isArray(tiers) ? tiers.map(pricesOf) : [],
    },
  ];
}

/** Names of the models that `oriel chat` may talk to; the first is its default. @throws Failure if there is none */
export async function textModels(client: DaemonClient): Promise<readonly [string, ...string[]]> {
  const { models } = await readCatalog(client);
  const [first, ...others] = models
    // A wildcard such as claude-* is no name of a model.
    .filter(({ id, type }) => !id.includes('*') && (type === 'text' || type === ''))
    .map(({ id }) => id);
  if (first === undefined) {
    throw new Failure('invalid_request', `${client.url} has no text model for this key`);
  }
  return [first, ...others];
}

/** @throws Failure if the daemon has no such model for this key */
export async function requireModel(client: DaemonClient, name: string): Promise<void> {
  await client.json(`/v1/models/${encodeURIComponent(name)}`);
}
