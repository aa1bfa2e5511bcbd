import { expect, onTestFinished } from 'vitest';
import type { Failure } from '../../src/failure.ts';
import type { NewKey } from '../../src/store/account.ts';
import type { Store } from '../../src/store/store.ts';
import { memoryFolder } from '../oriel.ts';
import type { DriverFactory, OpenOptions } from './conformance/driver-factory.ts';
import { findInconsistencies } from './consistency.ts';
import { owner } from './records.ts';

/**
 * A new store, and a function that closes and opens it again. After the test the store is checked and closed.
 *
 * @param options `isUnchecked` where the test leaves requests in progress, deletes usage, or has many accounts
 */
export async function freshStore(
  subject: DriverFactory,
  { isUnchecked = false, ...options }: FreshOptions = {},
) {
  const place = memoryFolder();
  let store = await subject.open(place, options);
  onTestFinished(async () => {
    if (!isUnchecked) expect(await inconsistenciesUnlessClosed(store)).toEqual([]);
    await store.close();
  });
  const reopened = async () => {
    await store.close();
    store = await subject.open(place, options);
    return store;
  };
  return { store, reopened, place };
}

export interface FreshOptions extends OpenOptions {
  readonly isUnchecked?: boolean;
}

async function inconsistenciesUnlessClosed(store: Store): Promise<string[]> {
  try {
    return await findInconsistencies(store);
  } catch (error) {
    if ((error as Failure).code === 'store_unavailable') return [];
    throw error;
  }
}

export interface OwnedOptions extends FreshOptions {
  /** Micro-credits of the account. */
  readonly credits?: number;
  readonly key?: Partial<NewKey>;
}

/** A new store with an account and a key of it. */
export async function ownedStore(
  driver: DriverFactory,
  { credits, key, ...options }: OwnedOptions = {},
) {
  const fresh = await freshStore(driver, options);
  return { ...fresh, ...(await owner(fresh.store, credits, key)) };
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
