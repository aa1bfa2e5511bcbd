import { checkIntegrity } from '../../src/store/integrity.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { temporaryFolder } from '../oriel.ts';

/** What the store of nodes that have ended says of itself. */
export async function storedFaults(url: string): Promise<readonly string[]> {
  const store = await openPostgresStore({
    directory: temporaryFolder(),
    url,
    poolSize: 4,
    schema: 'oriel',
  });
  try {
    const { faults, reserved } = await checkIntegrity(store.transfer.read());
    return reserved === 0 ? faults : [...faults, `${reserved} micro-credits are still reserved`];
  } finally {
    await store.close();
  }
}
