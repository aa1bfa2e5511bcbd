import { codedFailure, type Failure } from '../failure.ts';
import { FairSemaphore } from '../fair-semaphore.ts';
import { invalid } from '../schema/invalid.ts';
import type { NewAsset } from '../store/asset.ts';
import { changeDocument } from '../store/document.ts';
import { conflict } from '../store/errors.ts';
import { newId } from '../store/identifier.ts';
import type { KeyHolder } from '../store/store.ts';
import type { BatchBody, BatchDocument, BatchKind } from './batch.ts';
import type { BatchWorker } from './batch-worker.ts';
import { checkInput } from './input.ts';
import { remoteOf } from './remote-batch.ts';
import { type FileServices, JSONL, type StoredFiles } from './stored-files.ts';

interface BatchServices extends FileServices {
  readonly files: StoredFiles;
  readonly worker: Pick<BatchWorker, 'wake'>;
}

/** Maximum number of open batches of an account, and of all that are kept. */
const [MAX_OPEN, MAX_BATCHES] = [20, 10_000];

type NewBatch = Pick<BatchBody, 'endpoint' | 'metadata' | 'tags'>;

type BatchOfFile = NewBatch & Pick<BatchBody, 'inputFile'>;

interface BatchKey {
  readonly kind: BatchKind;
  readonly id: string;
}

function tooMany(what: string): Failure {
  const message = `the account has ${MAX_OPEN} batches that ${what}`;
  return codedFailure('too_many_tasks', message, { retryAfter: 60 });
}

/** The batches of all accounts, as their clients create, read and end them. */
export class Batches {
  readonly #services: BatchServices;
  /** Checks of inputs, each of which may take seconds of the event loop. */
  readonly #checks = new FairSemaphore(2, { permitsPerClient: 1 });

  constructor(services: BatchServices) {
    this.#services = services;
  }

  /** Creates a batch of the requests in a file. One whose requests have a fault fails at once. */
  async create(holder: KeyHolder, fileId: string, batch: NewBatch): Promise<BatchDocument> {
    const { files } = this.#services;
    const { id: accountId } = holder.account;
    const { purpose, asset } = (await files.find(accountId, fileId, 'input_file_id')).body;
    if (purpose !== 'batch') {
      const message = `expected a file of the purpose batch, received one of ${purpose}`;
      throw invalid('input_file_id', message);
    }
    const id = newId('batch');
    // First, so that the file cannot be deleted during the check.
    await files.use(accountId, fileId, id, true);
    let added: BatchDocument | undefined;
    try {
      const key = { kind: 'batch', id } as const;
      added = await this.#add(holder, key, { ...batch, inputFile: fileId }, asset);
      return added;
    } finally {
      if (!added?.isOpen) await files.use(accountId, fileId, id, false);
    }
  }

  /** Creates a batch of the requests in a body. @throws Failure invalid_request for the first fault */
  async createInline(
    holder: KeyHolder,
    requests: readonly { readonly custom_id: string; readonly params: unknown }[],
    batch: NewBatch,
  ): Promise<BatchDocument> {
    const { files, store, config } = this.#services;
    const { id: accountId, plan } = holder.account;
    const input = await files.write(JSONL, inlineLines(requests, batch.endpoint));
    try {
      await store.addUpload(accountId, input, config().limits[plan].uploads);
      const key = { kind: 'message_batch', id: newId('msgbatch') } as const;
      return await this.#add(holder, key, { ...batch, inputFile: null }, input);
    } catch (error) {
      await files.discard(accountId, [input]);
      throw error;
    }
  }

  /** Adds a batch after those of the account before it, so that each counts for the next. */
  async #add(
    holder: KeyHolder,
    key: BatchKey,
    batch: BatchOfFile,
    input: NewAsset,
  ): Promise<BatchDocument> {
    const { id } = holder.account;
    if (this.#checks.waitingOf(id) >= MAX_OPEN) throw tooMany('wait to be checked');
    const release = await this.#checks.acquire(id);
    return this.#checkAndAdd(holder, key, batch, input).finally(release);
  }

  async #checkAndAdd(
    holder: KeyHolder,
    { kind, id }: BatchKey,
    batch: BatchOfFile,
    input: NewAsset,
  ): Promise<BatchDocument> {
    const { store, assets, worker, config } = this.#services;
    const { id: accountId } = holder.account;
    const { documents: newest } = await this.list(kind, accountId, MAX_OPEN);
    if (newest.filter(({ isOpen }) => isOpen).length === MAX_OPEN) throw tooMany('have not ended');
    const rules = { endpoint: batch.endpoint, config: config(), holder };
    const { fault, ranges, total, models } = await checkInput(assets.chunks(input), rules);
    if (fault !== null && kind === 'message_batch') throw inlineFault(fault);
    const { now } = store;
    const body: BatchBody = {
      ...{ ...batch, input, keyId: holder.key.id, fault, ranges, total, segments: [], leases: {} },
      remote: remoteOf(batch.endpoint, models, config()),
      ...{ succeeded: 0, failed: 0, expires: now + config().batches.expiry },
      ...{ status: 'in_progress', outputs: [newId('file'), newId('file')] },
      ...(fault && { status: 'failed', ranges: [], total: 0, outputs: [null, null], ended: now }),
    };
    const expiresAt = fault && now + config().limits.retention;
    const own = { kind, accountId, id, parent: null, expiresAt, isOpen: fault === null, body };
    const quota = { count: MAX_BATCHES, bytes: Infinity };
    const [added] = await store.documents.add([own], quota);
    worker.wake();
    return added as BatchDocument;
  }

  /** @throws Failure 404 `batch_not_found`, also for a batch of another account */
  async find(kind: BatchKind, accountId: string, id: string): Promise<BatchDocument> {
    const found = await this.#services.store.documents.find({ kind, accountId, id });
    if (found !== undefined) return found as BatchDocument;
    const message = `there is no batch ${JSON.stringify(id.slice(0, 80))}`;
    throw codedFailure('batch_not_found', message);
  }

  async list(kind: BatchKind, accountId: string, limit: number, after?: string) {
    const query = { kind, accountId, limit, order: 'desc', after } as const;
    const page = await this.#services.store.documents.list(query);
    return { ...page, documents: page.documents as readonly BatchDocument[] };
  }

  /** Cancels a batch. Requests in progress are still answered. @throws Failure 409 `batch_ended` */
  async cancel(kind: BatchKind, accountId: string, id: string): Promise<BatchDocument> {
    const { store, worker } = this.#services;
    const before = await this.find(kind, accountId, id);
    const changed = await changeDocument<BatchBody>(store.documents, before, (body) => {
      if (body.ended !== undefined) {
        throw conflict(`${id} has ended: it is ${body.status}`, 'batch_ended');
      }
      if (body.status === 'cancelling') return null;
      return { body: { ...body, status: 'cancelling', cancelling: store.now } };
    });
    worker.wake();
    return changed ?? before;
  }

  /** Deletes an ended batch with its results. @throws Failure 409 `batch_running` */
  async remove(kind: BatchKind, accountId: string, id: string): Promise<void> {
    const { store, files } = this.#services;
    const { body } = await this.find(kind, accountId, id);
    if (body.ended === undefined) {
      throw conflict(`${id} has not ended: cancel it first`, 'batch_running');
    }
    for (const output of body.outputs) {
      if (output !== null) await files.remove(accountId, output).catch(() => {});
    }
    await store.documents.remove({ kind, accountId, id });
  }

  /** The file with the results of an ended batch of inline requests. @throws Failure 404 or 409 */
  async results(accountId: string, id: string): Promise<NewAsset> {
    const { body } = await this.find('message_batch', accountId, id);
    const [results] = body.outputs;
    if (body.ended === undefined || results === null) {
      throw conflict(`${id} has no results before it has ended`, 'batch_running');
    }
    return (await this.#services.files.find(accountId, results, 'message_batch_id')).body.asset;
  }
}

/** Converts inline requests to the lines of a file. */
async function* inlineLines(
  requests: readonly { readonly custom_id: string; readonly params: unknown }[],
  url: string,
): AsyncGenerator<Buffer, void> {
  for (const { custom_id, params: body } of requests) {
    yield Buffer.from(`${JSON.stringify({ custom_id, method: 'POST', url, body })}\n`);
  }
}

/** Converts the fault of a line to that of an inline request. */
function inlineFault({ line, message, param }: NonNullable<BatchBody['fault']>): Failure {
  const path = line === null ? 'requests' : `requests[${line - 1}]`;
  const field = param === null ? path : `${path}.${param.replace(/^body/, 'params')}`;
  const rest = message.replace(/^line \d+: /, '').replace(`${param}: `, '');
  return invalid(field, rest);
}
