import { type Asset, checkStorageQuota, type NewAsset } from '../asset.ts';
import { checkNew } from './ended.ts';
import type { Records } from './records.ts';
import { SPENT, UPLOADS } from './state.ts';

/** Inputs that are forgotten in one transaction. */
const MOST_INPUTS = 1000;

/** The verbs that change uploads, which are assets of no task, and inputs of tasks that have ended. */
export class Uploads {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async add(accountId: string, upload: NewAsset, most: number): Promise<Asset> {
    const { id } = this.#records.account(accountId);
    await checkNew(this.#records.archive, [upload]);
    checkStorageQuota(this.#records.bare.stored.of(id), upload.bytes, most);
    const transaction = this.#records.begin();
    const asset = transaction.asset(id, null, upload);
    await this.#records.commit(transaction);
    return asset;
  }

  async forgetInputs(): Promise<readonly Asset[]> {
    const transaction = this.#records.begin();
    const forgotten: Asset[] = [];
    for (const [order, asset] of this.#records.state.spentInputs.oldest(SPENT)) {
      transaction.changes.push(['assets', order, null]);
      forgotten.push(asset);
      if (forgotten.length === MOST_INPUTS) break;
    }
    if (forgotten.length > 0) await this.#records.commit(transaction);
    return forgotten;
  }

  async forget(madeBefore: number): Promise<readonly Asset[]> {
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
