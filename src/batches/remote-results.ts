import type { AssetStorage } from '../assets/storage/asset-storage.ts';
import { Failure } from '../failure.ts';
import { remember } from '../maps.ts';
import { tryParseJson } from '../schema/json.ts';
import { objectOf, textOf } from '../schema/untrusted.ts';
import type { NewAsset } from '../store/asset.ts';
import type { Upstream } from '../upstream/response.ts';
import type { BatchBody, RemoteBatch } from './batch.ts';
import { linesOf } from './input.ts';

/** The provider's answer to one line. */
export interface RemoteAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Where the results of lines are in a provider's file, by the name of the line. */
type Places = ReadonlyMap<string, readonly [NewAsset, { first: number; last: number }]>;

/** Bytes of one result. Several are in memory at the same time. */
export const MAX_RESULT_LINE = 32 * 2 ** 20;

/** Number of batches whose places are remembered: as many as a node works on at the same time. */
const MAX_KNOWN = 8;

/** Finds the results of lines in providers' files, which may have any order. */
export class RemoteResults {
  readonly #assets: AssetStorage;
  /** By the provider's identifier, the oldest first. */
  readonly #known = new Map<string, Promise<Places>>();

  constructor(assets: AssetStorage) {
    this.#assets = assets;
  }

  /** The provider's answer to a line; `unrun` if the batch ended before it ran; null if it was not sent. */
  async answerOf({ remote }: BatchBody, line: number): Promise<RemoteAnswer | 'unrun' | null> {
    if (!remote?.results) return null;
    const id = remote.id!;
    let places = this.#known.get(id);
    if (places === undefined) {
      places = this.#read(remote);
      places.catch(() => this.#known.delete(id));
      remember(this.#known, id, places, MAX_KNOWN);
    }
    const place = (await places).get(`${nameOf(remote)}-${line}`);
    if (place === undefined) return remote.ended === 'completed' ? null : 'unrun';
    const chunks: Buffer[] = [];
    const [asset, range] = place;
    for await (const chunk of this.#assets.chunks(asset, { range })) chunks.push(chunk);
    return answerIn(parsed(Buffer.concat(chunks)));
  }

  /** Forgets a batch that has ended. */
  forget({ remote }: BatchBody): void {
    if (remote?.id !== undefined) this.#known.delete(remote.id);
  }

  async #read(remote: RemoteBatch): Promise<Places> {
    const places = new Map<string, readonly [NewAsset, { first: number; last: number }]>();
    const isOwn = new RegExp(`^${nameOf(remote)}-\\d{1,6}$`);
    for (const asset of remote.results ?? []) {
      try {
        for await (const { bytes, end } of linesOf(this.#assets.chunks(asset), MAX_RESULT_LINE)) {
          const range = { first: end - 1 - bytes.length, last: end - 2 };
          const name = textOf(parsed(bytes)['custom_id']);
          if (isOwn.test(name)) places.set(name, [asset, range]);
        }
      } catch (error) {
        // Too long a line, or too many: what follows counts as missing.
        if (!(error instanceof Failure) || error.status >= 500) throw error;
      }
    }
    return places;
  }
}

/** What the names of lines begin with at the provider. */
const nameOf = ({ sent }: RemoteBatch) => sent?.name ?? 'line';

const parsed = (bytes: Buffer) => objectOf(tryParseJson(bytes.toString()));

/** Reads a result of OpenAI or of Anthropic. */
function answerIn(line: Readonly<Record<string, unknown>>): RemoteAnswer | 'unrun' {
  const { type, message, error } = objectOf(line['result']);
  if (type === 'succeeded') return { status: 200, body: message };
  const isInvalid = objectOf(objectOf(error)['error'])['type'] === 'invalid_request_error';
  if (type === 'errored') return { status: isInvalid ? 400 : 500, body: error };
  const { status_code: status, body } = objectOf(line['response']);
  return typeof status === 'number' ? { status, body } : 'unrun';
}

/** A provider that answers one request with the result that its batch has for it. */
export function upstreamWith({ status, body }: RemoteAnswer): Upstream {
  const bytes = Buffer.from(JSON.stringify(body));
  return {
    open: async () => ({
      ...{ status, headers: { 'content-type': 'application/json' }, resume() {}, abort() {} },
      bytes: async () => bytes,
      read: async (onData) => void onData(bytes),
    }),
  };
}
