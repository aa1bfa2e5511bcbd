import { ownActor } from '../../src/administration/actor.ts';
import type { CatalogContext } from '../../src/administration/catalog-context.ts';
import { loadStoreSettings } from '../../src/config/loading/load.ts';
import type { AuditTrail } from '../../src/store/audit/log.ts';

const settings = loadStoreSettings({ file: '/dev/null', env: {}, cwd: '/' });

/** An audit log that stores nothing, an actor, and a catalog of the sandbox alone. */
export const UNAUDITED: {
  audit: AuditTrail;
  catalog: CatalogContext;
  who: ReturnType<typeof ownActor>;
} = {
  catalog: {
    ...{ file: settings, network: settings.network, secretKeyFile: '/nowhere/secret.key' },
    testProvider: () => Promise.reject(new Error('no provider is tested')),
    testAlerts: async () => [],
    changed: async () => {},
  },
  audit: { record: (_, work) => work() },
  who: ownActor(),
};
