import { expect, onTestFinished } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { temporaryFolder } from '../oriel.ts';
import type { DriverFactory, OpenOptions } from './conformance/driver-factory.ts';

/** A new store, which is closed after the test, and a function that closes and opens it again. */
export async function freshStore(subject: DriverFactory, options: OpenOptions = {}) {
  const place = temporaryFolder();
  let store = await subject.open(place, options);
  onTestFinished(() => store.close());
  const reopened = async () => {
    await store.close();
    store = await subject.open(place, options);
    return store;
  };
  return { store, reopened, place };
}

/**
 * Has an open store crash: a copy of it, or itself.
 *
 * @returns the folder of what the crash left
 */
export async function crashed(
  driver: DriverFactory,
  store: Store,
  folder: string,
): Promise<string> {
  if (driver.copyAsCrashed) return driver.copyAsCrashed(folder);
  await driver.crash!(store);
  return folder;
}

/** Runs work on a store that may have crashed meanwhile, where a crash leaves no store that goes on. */
export async function untilCrash(driver: DriverFactory, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (driver.copyAsCrashed) throw error;
  }
}

/** Matcher for a Failure. */
export function failureWith(wanted: string, status: number) {
  return expect.objectContaining({ name: 'Failure', code: wanted, status });
}

/** A store, and after the checks on it, the same store opened again. */
export async function* bothOf(
  store: Store,
  reopened: () => Promise<Store>,
): AsyncGenerator<Store, void> {
  yield store;
  yield await reopened();
}
