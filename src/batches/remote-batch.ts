import {
  dialectFor,
  keysOf,
  kindOf,
  type RemoteProvider,
} from '../config/providers/provider-kinds.ts';
import type { Config } from '../config/settings/schema.ts';
import { codedFailure, Failure } from '../failure.ts';
import { openProvider, type ProviderRequest } from '../routing/provider-request.ts';
import { timeoutsOf } from '../routing/retry-policy.ts';
import { nonEmptyTextOf, objectOf, objectsOf, textOf } from '../schema/untrusted.ts';
import type { NewAsset } from '../store/asset.ts';
import { changeDocument, type DocumentKey } from '../store/document.ts';
import { newId } from '../store/identifier.ts';
import { findHolder } from '../store/key.ts';
import type { KeyHolder } from '../store/store.ts';
import type { Ledger } from '../text/billing/meter.ts';
import { TextReport } from '../text/canonical/report.ts';
import { dialectAt } from '../text/dialects/registry.ts';
import { readJson } from '../text/relay/upstream-response.ts';
import type { AbortSignalLike } from '../upstream/abort-signal.ts';
import type { Upstream, UpstreamResponse } from '../upstream/response.ts';
import { responseChunks } from '../upstream/response-chunks.ts';
import type { BatchBody, BatchDocument, BatchEnd, RemoteBatch, SentBatch } from './batch.ts';
import { linesOf, MESSAGES, parseLine } from './input.ts';
import { factorOf, wholeTextCall } from './line-runner.ts';
import type { RangeServices } from './range-run.ts';
import { MAX_RESULT_LINE } from './remote-results.ts';
import { JSONL } from './stored-files.ts';

interface RemoteServices extends RangeServices {
  readonly upstream: Upstream;
}

/** Metadata of batches at OpenAI. */
const NAME = 'oriel_batch';

/** Batches whose identifier at the provider is known. */
const MAX_OPEN = 500;

/** Bytes of a file of results, as many as 100,000 answers of 40 KB. */
const MAX_RESULT_BYTES = 4 * 2 ** 30;

/** Characters of a provider's identifier, which is stored. */
const MAX_ID = 256;

/** How long a provider may take to end an expired batch, in milliseconds. */
const MAX_DELAY = 3_600_000;

/** The provider whose batch API runs a batch; null if Oriel sends its requests one by one. */
export function remoteOf(
  endpoint: string,
  names: ReadonlySet<string>,
  { models, providers }: Config,
): RemoteBatch | null {
  const model = models[names.size === 1 ? [...names][0]! : ''];
  const route = model?.type === 'text' && model.routes.find(({ batches }) => batches);
  const provider = route && providers[route.provider];
  if (!provider || !kindOf(provider).batches || endpoint === '/v1/completions') return null;
  const isSame = dialectFor(route, provider, '') === dialectAt(endpoint)?.name;
  return isSame ? { provider: route.provider } : null;
}

/** Whether all lines are at the provider, so that none can run here. */
export const isAtProvider = ({ remote }: BatchBody) => remote != null && !remote.results;

type Ask = (path: string, request?: Partial<ProviderRequest>) => Promise<UpstreamResponse>;

/** Sends a batch or its cancellation to the provider, or fetches the results once it has ended there. */
export async function advanceRemote(
  services: RemoteServices,
  key: DocumentKey,
  signal: AbortSignalLike,
): Promise<void> {
  const { store, config, upstream, files } = services;
  const batch = (await store.documents.find(key)) as BatchDocument | undefined;
  if (!batch?.isOpen || !isAtProvider(batch.body)) return;
  const { expires, status, endpoint } = batch.body;
  let remote = batch.body.remote!;
  const set = async (next: RemoteBatch | null) =>
    void (await changeDocument<BatchBody>(store.documents, batch, (body) => ({
      body: { ...body, remote: next },
    })));
  const isCut = status === 'cancelling' || expires <= store.now;
  const cut = status === 'cancelling' ? 'cancelled' : 'expired';
  const configured = config().providers[remote.provider] as RemoteProvider | undefined;
  if (!configured || !kindOf(configured).batches) {
    // A later configuration may have the provider again, which still has the results.
    if (remote.id !== undefined && !isCut) return;
    return set(remote.id === undefined ? null : { ...remote, results: [], ended: cut });
  }
  const [apiKey] = keysOf(configured);
  const provider = { ...configured, ...(apiKey !== undefined && { apiKey }) };
  const { headers } = dialectAt(endpoint)!;
  const timeouts = timeoutsOf(config(), provider);
  const ask: Ask = (path, more) =>
    openProvider(upstream, provider, { path, model: '', headers, timeouts, signal, ...more });
  if (remote.id === undefined) {
    const mark = (count: number) => {
      remote = { ...remote, sent: { name: key.id, at: store.now, count } };
      return set(remote);
    };
    const left = remote.sent && (await findSent(services, endpoint, remote.sent, ask));
    const sent = left ?? (isCut ? null : submit(services, batch, ask, { signal, mark }));
    const id = await Promise.resolve(sent).catch(ifRefused);
    return set(id === null ? null : { ...remote, id });
  }
  if (expires + MAX_DELAY <= store.now) return set({ ...remote, results: [], ended: 'expired' });
  const isInline = endpoint === MESSAGES;
  const path = `${isInline ? '/messages' : ''}/batches/${encodeURIComponent(remote.id)}`;
  if (isCut && !remote.isCancelled) {
    await ask(`${path}/cancel`, { json: {} }).then(readJson).catch(ifRefused);
    return set({ ...remote, isCancelled: true });
  }
  const state = await ask(path).then(readJson);
  const how = textOf(state['processing_status'] ?? state['status']);
  // The provider rejected the batch. Sending the requests one by one shows which one is at fault.
  if (how === 'failed') return set(null);
  if (!/^(?:ended|completed|expired|cancelled)$/.test(how)) return;
  const ids = [state['output_file_id'], state['error_file_id']].flatMap((id) => idOf(id) ?? []);
  const sources = ids.map((id) => `/files/${encodeURIComponent(id)}/content`);
  const maxBytes = Math.min(MAX_RESULT_BYTES, (remote.sent?.count ?? Infinity) * MAX_RESULT_LINE);
  const results: NewAsset[] = [];
  try {
    for (const source of isInline ? [`${path}/results`] : sources) {
      const content = responseChunks(await ask(source));
      const asset = await files.write(JSONL, content, { maxBytes });
      await store.addUpload(key.accountId, asset, Infinity);
      results.push(asset);
    }
  } catch (error) {
    // All of them are fetched again.
    await files.discard(key.accountId, results);
    // Those that are too large would be so again.
    const isTooLarge = error instanceof Failure && error.code === 'file_too_large';
    if (isTooLarge) await set({ ...remote, results: [], ended: cut });
    throw error;
  }
  const isEarly = isCut && /^(?:ended|cancelled)$/.test(how);
  const ended = isEarly ? cut : how === 'ended' ? 'completed' : (how as BatchEnd);
  return set({ ...remote, results, ended });
}

const idOf = (value: unknown) => (textOf(value).length > MAX_ID ? null : nonEmptyTextOf(value));

/** Resolves with null if the provider rejects the request for good. */
function ifRefused(error: unknown): null {
  const status = error instanceof Failure ? (error.upstreamStatus ?? 500) : 500;
  if (status < 400 || status >= 500 || [408, 409, 425, 429].includes(status)) throw error;
  return null;
}

/** Maximum clock difference to a provider in milliseconds, and maximum number of pages of its list. */
const [MAX_SKEW, MAX_PAGES] = [60_000, 20];

/** Finds a batch at the provider whose creation was not recorded. @returns its identifier there, or null */
async function findSent(
  { store }: RemoteServices,
  endpoint: string,
  { name, at, count }: SentBatch,
  ask: Ask,
): Promise<string | null> {
  const isInline = endpoint === MESSAGES;
  const [path, cursor] = isInline ? ['/messages/batches', 'after_id'] : ['/batches', 'after'];
  const open = (await store.documents.listOpen('message_batch', MAX_OPEN)) as BatchDocument[];
  const known = new Set(open.map(({ body }) => body.remote?.id));
  let query = 'limit=100';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await ask(`${path}?${query}`).then(readJson).catch(ifRefused);
    const listed = objectsOf(answer?.['data']);
    for (const { id, metadata, created_at: created, request_counts: counts } of listed) {
      const time = typeof created === 'number' ? created * 1000 : Date.parse(textOf(created));
      // The newest comes first.
      if (time < at - MAX_SKEW) return null;
      // Anthropic's batches have no metadata. The names of their requests distinguish batches of the same time.
      const requests = Object.values(objectOf(counts))
        .map(Number)
        .reduce((sum, n) => sum + n, 0);
      const isOwn = isInline
        ? requests === count && !known.has(textOf(id))
        : objectOf(metadata)[NAME] === name;
      if (isOwn) return idOf(id);
    }
    if (answer?.['has_more'] !== true || listed.length === 0) return null;
    query = `limit=100&${cursor}=${encodeURIComponent(textOf(listed.at(-1)!['id']))}`;
  }
  return null;
}

/**
 * Sends the requests of a batch.
 *
 * @param mark called with their number before
 * @returns the provider's identifier; null if none of them is sent
 */
async function submit(
  services: RemoteServices,
  { accountId, body, id }: BatchDocument,
  ask: Ask,
  { signal, mark }: { signal: AbortSignalLike; mark: (count: number) => Promise<void> },
): Promise<string | null> {
  const { store, assets, files, config } = services;
  const { endpoint, input, keyId } = body;
  const holder = await findHolder(store, accountId, keyId);
  const isInline = endpoint === MESSAGES;
  let [cost, count] = [0, 0];
  const content = async function* () {
    const lines = linesOf(assets.chunks(input), config().server.bodyLimit);
    for await (const { bytes, number } of lines) {
      if (signal.aborted) throw new Failure('service_error', 'the batch is stopped');
      const wire = await wireOf(services, bytes, body, holder!);
      if (wire === null) continue;
      cost += wire.cost;
      const own = isInline
        ? `"params":${wire.text}}`
        : `"method":"POST","url":"${endpoint}","body":${wire.text}}\n`;
      const start = isInline ? (count === 0 ? '{"requests":[' : ',') : '';
      count += 1;
      yield Buffer.from(`${start}{"custom_id":"${id}-${number}",${own}`);
    }
    if (isInline) yield Buffer.from(']}');
  };
  const asset = await files.write(JSONL, content());
  try {
    // The provider will run all of them, so the account must be able to pay for all.
    const held = await store.reserve(accountId, keyId, Math.ceil(cost)).catch(() => null);
    if (held === null || count === 0) return null;
    await store.release(held);
    await mark(count);
    const send = async (path: string, request: Partial<ProviderRequest>) =>
      idOf((await ask(path, request).then(readJson))['id']);
    if (isInline) {
      const headers = {
        ...dialectAt(endpoint)!.headers,
        ...{ 'content-type': 'application/json', 'content-length': String(asset.bytes) },
      };
      return await send('/messages/batches', { headers, content: assets.chunks(asset) });
    }
    const file = await send('/files', formWith(asset, `${id}.jsonl`, assets.chunks(asset)));
    return await send('/batches', {
      json: { input_file_id: file, endpoint, completion_window: '24h', metadata: { [NAME]: id } },
    });
  } finally {
    await files.discard(accountId, [asset]);
  }
}

/** A form with the input file of a batch, streamed while it is sent. */
function formWith({ bytes }: NewAsset, filename: string, chunks: AsyncIterable<Buffer>) {
  const boundary = newId('form');
  const field = `--${boundary}\r\ncontent-disposition: form-data; name=`;
  const head = `${field}"purpose"\r\n\r\nbatch\r\n${field}"file"; filename="${filename}"\r\n\r\n`;
  const tail = `\r\n--${boundary}--\r\n`;
  const content = (async function* () {
    yield Buffer.from(head);
    yield* chunks;
    yield Buffer.from(tail);
  })();
  const type = `multipart/form-data; boundary=${boundary}`;
  const length = String(head.length + bytes + tail.length);
  return { content, headers: { 'content-type': type, 'content-length': length } };
}

/**
 * The request to the provider for a line, and the most that it costs. It passes all stages of a request until it would be
 * sent; null where one of them refuses it, so that it runs with the others later and gets its failure.
 */
async function wireOf(
  { text, config }: RemoteServices,
  bytes: Buffer,
  { endpoint, tags, remote }: BatchBody,
  holder: KeyHolder,
): Promise<{ readonly text: string; readonly cost: number } | null> {
  let [wire, cost] = ['', 0];
  const report = new TextReport(null, tags);
  const upstream: Upstream = {
    async open(_url, { body }) {
      wire ||= String(body);
      throw codedFailure('not_supported_by_model', 'not sent');
    },
  };
  const ledger: Ledger = {
    async reserve(accountId, keyId, amount) {
      cost = amount;
      return { id: '', accountId, keyId, amount: 0 };
    },
    release: async () => {},
    settle: async () => 0,
  };
  const { body } = parseLine(bytes, endpoint);
  const call = { requestId: newId('req'), body, headers: {}, holder, report, ledger };
  const batched = { provider: remote!.provider, upstream };
  const asked = { ...call, ...wholeTextCall(endpoint), isBackground: true as const, batched };
  await text.answer(asked).catch(() => {});
  return wire ? { text: wire, cost: cost * factorOf(config().models[report.model!]) } : null;
}
