import { describe } from 'vitest';
import { openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import { describeStoreDriver } from '../conformance/driver.ts';
import { copyAsCrashed } from './crash-copy.ts';

const NODE = { name: '127.0.0.1:8080', version: '1.0.0' };

describe('the lowdb driver', () => {
  describeStoreDriver({
    // Journals of a few kilobytes, so that checkpoints happen during every test.
    open: (directory, options) =>
      openLowdbStore({ directory, journalLimit: 4000, node: NODE, ...options }),
    copyAsCrashed: async (folder) => copyAsCrashed(folder),
  });
});
