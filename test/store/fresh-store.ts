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
