import type { Logger } from 'pino';
import type { Config } from '../config/schema.ts';
import type { MediaGateway } from '../media/gateway.ts';
import type { SharedPool } from '../operations/pool.ts';
import type { AssetFiles } from '../store/asset-files.ts';
import type { AuditTrail } from '../store/audit/log.ts';
import type { Store } from '../store/store.ts';
import type { TextGateway } from '../text/gateway.ts';
import type { Metrics } from './metrics.ts';
import type { Spool } from './uploads/spool.ts';

/** What the endpoints ask of media. */
export type Media = Pick<MediaGateway, 'submit' | 'waitFor' | 'upload' | 'moderate'>;

/** What the endpoints work with. */
export interface AppContext {
  /** The configuration as it is now: a reload puts another in its place, so keep no part of it. */
  readonly config: Config;
  /** Of Oriel, as in package.json. */
  readonly version: string;
  readonly store: Store;
  readonly audit: AuditTrail;
  readonly text: TextGateway;
  readonly media: Media;
  readonly assets: AssetFiles;
  readonly pool: SharedPool;
  readonly spool: Spool;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** How clients reach this server: `https://oriel.example.com`. */
  readonly publicUrl: string;
  /** Aborted when the daemon begins to end: nothing new is taken up. */
  readonly draining: AbortSignal;
}
