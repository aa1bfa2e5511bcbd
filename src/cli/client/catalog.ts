import { Failure } from '../../failure.ts';
import type { DaemonClient } from './daemon-client.ts';

/** What a daemon says of a model, as far as it is shown here. */
export interface CatalogEntry {
  readonly id: string;
  /** Empty where the daemon does not say. */
  readonly type: string;
  readonly efforts: readonly string[];
  readonly pricing: readonly (readonly [what: string, credits: number])[];
}

type Loose = Readonly<Record<string, unknown>>;

function objectAt(value: unknown): Loose {
  return typeof value === 'object' && value !== null ? (value as Loose) : {};
}

/** @throws Failure where the daemon has none to tell */
export async function readCatalog(
  client: DaemonClient,
): Promise<{ document: object; models: CatalogEntry[] }> {
  const document = objectAt(await client.json('/v1/models'));
  const { data } = document;
  if (!Array.isArray(data)) {
    throw new Failure('service_error', `${client.url}/v1/models tells of no models`);
  }
  return { document, models: (data as unknown[]).flatMap(entryOf) };
}

function entryOf(value: unknown): CatalogEntry[] {
  const { id, type, capability_metadata, pricing } = objectAt(value);
  if (typeof id !== 'string') return [];
  const { supported_efforts } = objectAt(objectAt(capability_metadata)['reasoning']);
  const efforts = Array.isArray(supported_efforts) ? (supported_efforts as unknown[]) : [];
  return [
    {
      id,
      type: typeof type === 'string' ? type : '',
      efforts: efforts.map(String),
      pricing: Object.entries(objectAt(pricing)).filter(
        (entry): entry is [string, number] => typeof entry[1] === 'number',
      ),
    },
  ];
}

/** The model to talk to where nobody says. */
export async function firstTextModel(client: DaemonClient): Promise<string> {
  const { models } = await readCatalog(client);
  const first = models.find(({ type }) => type === 'text' || type === '');
  if (!first) {
    throw new Failure('invalid_request', `${client.url} has no text model for this key`);
  }
  return first.id;
}
