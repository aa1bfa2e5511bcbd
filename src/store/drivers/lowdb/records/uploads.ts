import { type Asset, checkStorageQuota, type NewAsset } from '../../../asset.ts';
import { SPENT, UPLOADS } from '../state/state.ts';
import { checkAssetIds } from './archiver.ts';
import type { Records } from './records.ts';

/** Maximum inputs that one transaction deletes. */
const MAX_DELETED_INPUTS = 1000;

/** The methods that change uploads, which are assets without a task, and inputs of ended tasks. */
export class UploadWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async addUpload(accountId: string, upload: NewAsset, quota: number): Promise<Asset> {
    this.#records.checkBacklog();
    const { id } = this.#records.account(accountId);
    await checkAssetIds(this.#records.archive, [upload]);
    checkStorageQuota(this.#records.bookedState.storedBytes.of(id), upload.bytes, quota);
    const transaction = this.#records.begin();
    const asset = transaction.asset(id, null, upload);
    await this.#records.commit(transaction);
    return asset;
  }

  async deleteInputs(): Promise<readonly Asset[]> {
    const transaction = this.#records.begin();
    const deleted: Asset[] = [];
    for (const [order, asset] of this.#records.state.spentInputs.oldest(SPENT)) {
      transaction.changes.push(['assets', order, null]);
      deleted.push(asset);
      if (deleted.length === MAX_DELETED_INPUTS) break;
    }
    if (deleted.length > 0) await this.#records.commit(transaction);
    return deleted;
  }

  async deleteUploads(madeBefore: number): Promise<readonly Asset[]> {
    const transaction = this.#records.begin();
    const deleted: Asset[] = [];
    for (const [order, asset] of this.#records.state.assetsOfTask.oldest(UPLOADS)) {
      if (asset.createdAt >= madeBefore) continue;
      transaction.changes.push(['assets', order, null]);
      deleted.push(asset);
    }
    if (deleted.length > 0) await this.#records.commit(transaction);
    return deleted;
  }
}
