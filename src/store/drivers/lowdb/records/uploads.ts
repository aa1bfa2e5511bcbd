import type { Asset } from '../../../asset.ts';
import { addUpload } from '../../../operations/tasks.ts';
import type { Store } from '../../../store.ts';
import { SPENT, UPLOADS } from '../state/state.ts';
import { checkAssetIds } from './archiver.ts';
import type { Records } from './records.ts';

/** Maximum inputs that one transaction deletes. */
const MAX_DELETED_INPUTS = 1000;

/** The methods that change uploads, which are assets without a task, and inputs of ended tasks. */
export function uploadMethods(
  records: Records,
): Pick<Store, 'addUpload' | 'deleteInputs' | 'deleteUploads'> {
  async function remove(rows: readonly [order: number, asset: Asset][]): Promise<Asset[]> {
    if (rows.length === 0) return [];
    const transaction = records.begin();
    for (const [order] of rows) transaction.changes.push(['assets', order, null]);
    await records.commit(transaction);
    return rows.map(([, asset]) => asset);
  }
  return {
    async addUpload(accountId, upload, quota) {
      records.checkBacklog();
      await checkAssetIds(records.archive, [upload]);
      return records.run(addUpload(accountId, upload, { quota, at: records.now() }));
    },
    async deleteInputs() {
      const inputs = [...records.state.spentInputs.oldest(SPENT)];
      return remove(inputs.slice(0, MAX_DELETED_INPUTS));
    },
    async deleteUploads(madeBefore) {
      const uploads = [...records.state.assetsOfTask.oldest(UPLOADS)];
      return remove(uploads.filter(([, { createdAt }]) => createdAt < madeBefore));
    },
  };
}
