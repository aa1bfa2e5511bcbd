import { join } from 'node:path';
import type { Logger } from 'pino';
import { openAssetStorage } from '../assets/open.ts';
import type { AssetStorage } from '../assets/storage/asset-storage.ts';
import type { Metrics } from '../http/observability/metrics.ts';
import type { Nodes } from '../store/nodes.ts';
import type { UpstreamClient } from '../upstream/client.ts';
import type { DaemonState } from './state.ts';

interface AssetParts {
  readonly state: DaemonState;
  readonly nodes: Nodes;
  readonly upstream: UpstreamClient;
  readonly log: Logger;
  readonly metrics: Metrics;
}

/** Opens the storage of files. The daemon also starts while a bucket does not answer. */
export async function openDaemonAssets({
  state,
  nodes,
  upstream,
  log,
  metrics,
}: AssetParts): Promise<AssetStorage> {
  const { driver, bucket } = state.config.assets;
  if (driver === 's3') metrics.watchStorage();
  const files = await openAssetStorage({
    directory: join(state.config.dataDir, 'assets'),
    settings: () => state.config.assets,
    upstream,
    isLeader: () => nodes.isLeader(),
    onDamage: (id) => {
      metrics.observeDamage();
      log.error({ asset: id }, 'a file differs from what was written');
    },
    onRequest: (operation, outcome, milliseconds) =>
      metrics.observeStorage(operation, outcome, milliseconds / 1000),
  });
  void files.health().then((reason) => {
    if (reason !== null) log.error({ bucket, reason }, 'the bucket of files cannot be used');
  });
  return files;
}
