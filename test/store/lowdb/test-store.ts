import { onTestFinished } from 'vitest';
import { type LowdbOptions, openLowdbStore } from '../../../src/store/drivers/lowdb/open.ts';
import type { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../oriel.ts';
import { type Hook, hookedFiles } from '../hooked-files.ts';
import { copyAsCrashed } from './crash-copy.ts';

/** Opens a store, which is closed after the test. */
async function openUntilEnd(options: LowdbOptions): Promise<Store> {
  const store = await openLowdbStore(options);
  onTestFinished(() => store.close());
  return store;
}

/** Opens a copy of a store as a crash would leave it now. */
export function openCrashed(
  directory: string,
  options: Partial<LowdbOptions> = {},
): Promise<Store> {
  return openUntilEnd({ ...options, directory: copyAsCrashed(directory) });
}

/** A store on a disk whose operations call `disk.hook`, and the errors of its background work. */
export async function openHooked({
  directory = temporaryFolder(),
  ...options
}: Partial<LowdbOptions> = {}) {
  const disk: { hook: Hook } = { hook: () => {} };
  const faults: unknown[] = [];
  const files = hookedFiles((...args) => disk.hook(...args));
  const onFault = (error: unknown) => faults.push(error);
  const store = await openUntilEnd({ directory, files, onFault, ...options });
  return { directory, disk, faults, store };
}
