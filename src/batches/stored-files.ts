import { open } from 'node:fs/promises';
import type { AssetStorage } from '../assets/storage/asset-storage.ts';
import { newAssetId } from '../assets/storage/identifier.ts';
import { chunksOf } from '../assets/storage/local-chunks.ts';
import type { FileSource } from '../assets/storage/spooled-file.ts';
import type { Config } from '../config/settings/schema.ts';
import { codedFailure, type Failure } from '../failure.ts';
import { FairSemaphore } from '../fair-semaphore.ts';
import { rethrowAfter } from '../flow.ts';
import { HEAD_BYTES, isText, sniffMedia } from '../media/files/media-type.ts';
import type { NewAsset } from '../store/asset.ts';
import { changeDocument, type DocumentKey, type Typed } from '../store/document.ts';
import { conflict } from '../store/errors.ts';
import { newId } from '../store/identifier.ts';
import type { KeyHolder, Store } from '../store/store.ts';
import { mediaTypeOfAddress } from '../text/dialects/media-source.ts';
import type { FileContents } from '../text/execution/insert-files.ts';

/** Purposes for which clients may upload files. */
export const PURPOSES = ['batch', 'user_data', 'vision', 'assistants'] as const;

export interface FileBody {
  readonly filename: string;
  readonly purpose: (typeof PURPOSES)[number] | 'batch_output';
  readonly asset: NewAsset;
  /** Batches that read the file. It cannot be deleted meanwhile. */
  readonly usedBy: readonly string[];
  readonly isDeleted?: true;
}

export type FileDocument = Typed<FileBody>;

export const JSONL = 'application/jsonl';
const BINARY = 'application/octet-stream';

/** Files of one account. */
const MAX_FILES = 10_000;

/** Maximum bytes of files as base64 in concurrent requests: of all accounts, and of one. */
const INSERTED = { bytes: 256 * 2 ** 20, bytesPerClient: 64 * 2 ** 20 } as const;

export interface FileServices {
  readonly config: () => Config;
  readonly store: Store;
  readonly assets: AssetStorage;
}

/** Files that clients upload, and results of batches. Their content is an asset, their metadata a document. */
export class StoredFiles implements FileContents {
  readonly #services: FileServices;
  readonly #inserted = new FairSemaphore(Infinity, INSERTED);
  readonly assets: AssetStorage;

  constructor(services: FileServices) {
    this.#services = services;
    this.assets = services.assets;
  }

  /**
   * Stores an upload.
   *
   * @param seconds until it is deleted, if `limits.retention` is not sooner
   * @param declared media type, for content that shows none
   * @param parts stored chunks that come before the content of `path`, and are removed
   */
  async add(
    { account }: KeyHolder,
    path: string,
    named: Pick<FileBody, 'filename' | 'purpose'>,
    seconds: number,
    declared?: string,
    parts: readonly NewAsset[] = [],
  ): Promise<FileDocument> {
    const { assets } = this.#services;
    async function* content() {
      for (const part of parts) yield* assets.chunks(part);
      yield* chunksOf(() => open(path, 'r'));
    }
    let head: Buffer = Buffer.alloc(0);
    for await (const chunk of content()) {
      head = chunk.subarray(0, HEAD_BYTES);
      break;
    }
    const media = sniffMedia(head);
    if (named.purpose === 'vision' && media?.kind !== 'image') {
      const message = 'file: expected an image for the purpose vision, received another file';
      throw codedFailure('unsupported_image', message, { param: 'file' });
    }
    const other = media?.mediaType ?? mediaTypeOf(head, named.filename, declared);
    const asset = await this.write(named.purpose === 'batch' ? JSONL : other, content());
    await this.discard(account.id, parts);
    const quota = this.#services.config().limits[account.plan].uploads;
    return this.record({ accountId: account.id, quota, seconds }, { ...named, asset });
  }

  /** Stores a chunk of an upload under its name, once. */
  async addPart({ account }: KeyHolder, path: string, id: string): Promise<void> {
    const { store, config } = this.#services;
    if (await store.findAsset(id)) return;
    const content = chunksOf(() => open(path, 'r'));
    const asset = await this.write(BINARY, content, { id });
    await store
      .addUpload(account.id, asset, config().limits[account.plan].uploads)
      .catch(rethrowAfter(() => this.discard(account.id, [asset])));
  }

  /** Writes content, which the caller records or discards. */
  async write(
    mediaType: string,
    content: FileSource,
    { id = newAssetId('bin'), maxBytes = Infinity }: { id?: string; maxBytes?: number } = {},
  ): Promise<NewAsset> {
    return { id, mediaType, ...(await this.#services.assets.write(id, content, maxBytes)) };
  }

  /** Records a file whose content is stored. Removes the content if that fails. */
  async record(
    to: { accountId: string; id?: string; quota?: number; seconds?: number },
    file: Pick<FileBody, 'filename' | 'purpose' | 'asset'>,
  ): Promise<FileDocument> {
    const { store, config } = this.#services;
    const { accountId, id = newId('file'), quota = Infinity, seconds = Infinity } = to;
    const lifetime = Math.min(config().limits.retention, seconds * 1000);
    try {
      await store.addUpload(accountId, file.asset, quota);
      const document = {
        ...keyOf(accountId, id),
        // Lists of one purpose are lists of its parts.
        parent: file.purpose,
        ...{ expiresAt: store.now + lifetime, isOpen: false },
        body: { ...file, usedBy: [] },
      };
      const count = quota < Infinity ? MAX_FILES : Infinity;
      const [added] = await store.documents.add([document], { count, bytes: Infinity });
      return added as FileDocument;
    } catch (error) {
      await this.discard(accountId, [file.asset]);
      throw error;
    }
  }

  /** Removes files and their content. */
  async discard(accountId: string, assets: readonly NewAsset[]): Promise<void> {
    const ids = assets.map(({ id }) => id);
    await this.#services.store.removeUploads(accountId, ids);
    await this.#services.assets.discard(ids);
  }

  /** @throws Failure 404 `file_not_found`, also for a file of another account */
  async find(accountId: string, id: string, param = 'file_id'): Promise<FileDocument> {
    const { documents } = this.#services.store;
    const found = (await documents.find(keyOf(accountId, id))) as FileDocument | undefined;
    if (found === undefined || found.body.isDeleted) throw fileNotFound(id, param);
    return found;
  }

  /** @throws Failure 409 `file_in_use` while a batch reads it */
  async remove(accountId: string, id: string): Promise<void> {
    const { documents } = this.#services.store;
    const { asset } = (await this.find(accountId, id)).body;
    await changeDocument<FileBody>(documents, keyOf(accountId, id), (body) => {
      const [batch] = body.usedBy;
      if (batch === undefined) return { body: { ...body, isDeleted: true } };
      throw conflict(`${id} is the input of ${batch}, which has not ended`, 'file_in_use');
    });
    await documents.remove(keyOf(accountId, id));
    await this.discard(accountId, [asset]);
  }

  /** Marks a file as used by a batch, or no longer. @throws Failure 404 `file_not_found` */
  async use(accountId: string, id: string, batchId: string, isUsed: boolean): Promise<void> {
    const { documents } = this.#services.store;
    const changed = await changeDocument<FileBody>(documents, keyOf(accountId, id), (body) => {
      const others = body.usedBy.filter((one) => one !== batchId);
      if (body.isDeleted) return null;
      return { body: { ...body, usedBy: isUsed ? [...others, batchId] : others } };
    });
    if (isUsed && !changed) throw fileNotFound(id, 'input_file_id');
  }

  async open(accountId: string, ids: ReadonlyMap<string, string>, maxBytes: number) {
    const found: FileDocument[] = [];
    for (const [id, param] of ids) found.push(await this.find(accountId, id, param));
    const bytes = found.reduce((sum, { body }) => sum + Math.ceil(body.asset.bytes / 3) * 4, 0);
    if (bytes > Math.min(maxBytes, INSERTED.bytesPerClient)) {
      const message = `the files of the request have ${bytes} bytes as base64, more than a request may have`;
      throw codedFailure('request_too_large', message);
    }
    const release = await this.#inserted.acquire(accountId, undefined, bytes);
    try {
      const contents = new Map();
      for (const { id, body } of found) {
        const data = (await this.#services.assets.read(body.asset)).toString('base64');
        contents.set(id, { filename: body.filename, mediaType: body.asset.mediaType, data });
      }
      return { contents, bytes, release };
    } catch (error) {
      release();
      throw error;
    }
  }
}

const keyOf = (accountId: string, id: string): DocumentKey => ({ kind: 'file', accountId, id });

function fileNotFound(id: string, param: string): Failure {
  const message = `${param}: there is no file ${JSON.stringify(id.slice(0, 80))}`;
  return codedFailure('file_not_found', message, { param });
}

function mediaTypeOf(head: Buffer, filename: string, declared = ''): string {
  if (head.toString('latin1', 0, 5) === '%PDF-') return 'application/pdf';
  if (/^[a-z]+\/[\w.+-]+$/.test(declared)) return declared;
  if (!isText(head)) return BINARY;
  const type = mediaTypeOfAddress(filename);
  return type?.startsWith('text/') || type === 'application/json' ? type : 'text/plain';
}
