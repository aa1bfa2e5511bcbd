import { type Asset, checkRoom, type NewAsset } from '../asset.ts';
import type { Records } from './records.ts';
import { UPLOADS } from './state.ts';

/** The verbs that change uploads: assets that belong to no task. */
export class Uploads {
  readonly #records: Records;

  constructor(records: Records) {
    this.#records = records;
  }

  async add(accountId: string, upload: NewAsset, most: number): Promise<Asset> {
    const { id } = this.#records.account(accountId);
    checkRoom(this.#records.bare.uploaded.of(id), upload, most);
    const transaction = this.#records.begin();
    const asset = transaction.asset(id, null, upload);
    await this.#records.commit(transaction);
    return asset;
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
