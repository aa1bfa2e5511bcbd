import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Alerts } from '../../src/alerts/alerts.ts';
import type { DaemonState } from '../../src/app/start.ts';
import { StoredProviders } from '../../src/app/stored-catalog.ts';
import { loadConfig } from '../../src/config/loading/load.ts';
import type { ConfigEntry } from '../../src/store/config-entry.ts';
import type { Store } from '../../src/store/store.ts';
import type { StoreEvent } from '../../src/store/store-event.ts';
import { gate } from '../gate.ts';
import { temporaryFolder } from '../oriel.ts';
import '../../src/text/built-in-dialects.ts';

it('reads the entries once for all changes that come while it reads', async () => {
  const loaded = loadConfig({ file: undefined, env: {}, cwd: temporaryFolder() });
  const state = { config: loaded.config, configuration: { loaded } } as unknown as DaemonState;
  const entries: ConfigEntry[] = [];
  const reading = gate();
  let reads = 0;
  let tell = (_event: StoreEvent) => {};
  const store = {
    isShared: false,
    async listConfigEntries() {
      reads += 1;
      const read = [...entries];
      if (reads === 2) await reading.passed;
      return read;
    },
    watch(listener: typeof tell) {
      tell = listener;
      return () => {};
    },
  } as unknown as Store;
  const alerts = {} as Alerts;
  const catalog = new StoredProviders(state, store, pino({ enabled: false }), alerts);
  await catalog.start();
  const first = catalog.changed();
  await Promise.resolve();
  for (let index = 0; index < 50; index += 1) {
    const name = `p-${index}`;
    entries.push({
      ...{ id: name, kind: 'provider', name, settings: { kind: 'sandbox' } },
      ...{ secrets: null, hint: null, createdAt: 1, changedAt: 1 },
    });
    tell({ kind: 'config' } as StoreEvent);
  }
  const last = catalog.changed();
  reading.open();
  await Promise.all([first, last]);
  expect(Object.keys(state.config.providers)).toContain('p-49');
  expect(reads).toBe(3);
  await catalog.close();
});
