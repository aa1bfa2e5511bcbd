import { type Asset, checkStorageQuota, type NewAsset } from '../../asset.ts';
import { checkAssetIds } from '../archiver.ts';
import { SPENT, UPLOADS } from '../state/state.ts';
import type { Records } from './records.ts';

/** Inputs that are forgotten in one transaction. */
const MAX_DELETED_INPUTS = 1000;

/** The verbs that change uploads, which are assets of no task, and inputs of tasks that have ended. */
export class UploadWriter {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async add(accountId: string, upload: NewAsset, most: number): Promise<Asset> {
    const { id } = this.#records.account(accountId);
    await checkAssetIds(this.#records.archive, [upload]);
    checkStorageQuota(this.#records.bookedState.storedBytes.of(id), upload.bytes, most);
    const transaction = this.#records.begin();
    const asset = transaction.asset(id, null, upload);
    await this.#records.commit(transaction);
    return asset;
  }

  async deleteSpentInputs(): Promise<readonly Asset[]> {
    const transaction = this.#records.begin();
    const forgotten: Asset[] = [];
    for (const [order, asset] of this.#records.state.spentInputs.oldest(SPENT)) {
      transaction.changes.push(['assets', order, null]);
      forgotten.push(asset);
      if (forgotten.length === MAX_DELETED_INPUTS) break;
    }
    if (forgotten.length > 0) await this.#records.commit(transaction);
    return forgotten;
  }

  async deleteBefore(madeBefore: number): Promise<readonly Asset[]> {
    const transaction = this.#records.begin();
    const forgotten: Asset[] = [];
    for (const [order, asset] of this.#records.state.assetsOfTask.oldest(UPLOADS)) {
      if (asset.createdAt >= madeBefore) continue;
      transaction.changes.push(['assets', order, null]);
      forgotten.push(asset);
    }
    if (forgotten.length > 0) await this.#records.commit(transaction);
    return forgotten;
  }
}
