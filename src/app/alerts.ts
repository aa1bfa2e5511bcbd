import { statfs } from 'node:fs/promises';
import { Alerts } from '../alerts/alerts.ts';
import { AlertWatch, type DiskUse } from '../alerts/watch.ts';
import { memoryShare } from '../http/transport/pressure.ts';
import { secretsRedactor } from '../routing/redaction.ts';
import type { RouteCooldown } from '../routing/route-cooldowns.ts';
import type { Routing } from '../routing/routing.ts';
import type { Store } from '../store/store.ts';
import type { Upstream } from '../upstream/response.ts';
import type { Start } from './start.ts';
import { isOutage, nameOf } from './store.ts';

/** The alerts of a daemon, with their log lines and metrics. */
export class DaemonAlerts {
  readonly alerts: Alerts;
  readonly watch: AlertWatch;
  /** The routings of text and media, once they exist. */
  routings: readonly Routing[] = [];

  /** @param network without cassettes, since webhooks are not providers */
  constructor({ state, log, metrics, closers, charged }: Start, store: Store, network: Upstream) {
    const settings = () => state.config;
    // The store logs its outages itself.
    const onFault = (what: string) => (error: unknown) => {
      if (!isOutage(error)) log.error({ err: error }, what);
    };
    this.alerts = new Alerts({
      ...{ store, upstream: network, settings },
      publicUrl: () => state.publicUrl,
      onAlert: ({ id, type, message, subject, figures, link }) => {
        metrics.raisedAlerts.inc({ type });
        log.warn({ alert: id, type, ...subject, ...figures, link }, message);
      },
      onDelivery: ({ id, type }, webhook, outcome, reason) => {
        metrics.alertDeliveries.inc({ webhook, outcome });
        const line = { alert: id, type, webhook, reason };
        if (outcome !== 'delivered') log.error(line, `an alert was not delivered (${outcome})`);
      },
      onDropped: (count) => {
        metrics.raisedAlerts.inc({ type: 'dropped' }, count);
        log.error({ count }, 'alerts were dropped: too many waited for the store');
      },
      onFault: onFault('alerts could not be recorded; retrying'),
    });
    closers.add(async () => {
      const count = await this.alerts.close();
      if (count > 0) log.error({ count }, 'alerts were not delivered before the daemon stopped');
    });
    this.watch = new AlertWatch({
      ...{ alerts: this.alerts, store, charged, node: nameOf(state.config.server) },
      settings: () => state.config.alerts,
      routeCooldowns: () => this.#routeCooldowns(),
      describe: ({ detail, message }) => secretsRedactor(state.config.providers)(detail ?? message),
      readDisk: () => readDisk(state.config.dataDir),
      memory: () => memoryShare(state.config.overload.memory),
      onFault: onFault('a check for alerts failed; retrying'),
    });
    closers.add(() => this.watch.close());
    const disk = (part: keyof DiskUse) => () => this.watch.disk?.[part] ?? Number.NaN;
    metrics.addGauges({
      oriel_disk_free_bytes: ['Free space on the disk of the data folder', disk('free')],
      oriel_disk_total_bytes: ['Size of the disk of the data folder', disk('total')],
      oriel_memory_share: [
        'Share of the memory of this process that is used, of V8 or of all, whichever is fuller',
        () => memoryShare(state.config.overload.memory),
      ],
    });
  }

  *#routeCooldowns(): Generator<RouteCooldown> {
    for (const routing of this.routings) yield* routing.routeCooldowns();
  }
}

/** Null if the file system does not report its size (FUSE). */
async function readDisk(folder: string): Promise<DiskUse | null> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return blocks > 0 ? { free: bavail * bsize, total: blocks * bsize } : null;
}
