import type { Logger } from 'pino';
import type { CatalogContext } from '../../administration/catalog-context.ts';
import type { AlertWatch } from '../../alerts/watch.ts';
import type { AssetStorage } from '../../assets/storage/asset-storage.ts';
import type { Batches } from '../../batches/batches.ts';
import type { StoredFiles } from '../../batches/stored-files.ts';
import type { ConfigurationSource, Reload } from '../../config/loading/reload.ts';
import type { Config } from '../../config/settings/schema.ts';
import type { MediaGateway } from '../../media/gateway.ts';
import type { TaskAttempts } from '../../media/queue/task-attempts.ts';
import type { TaskRunner } from '../../media/queue/task-runner.ts';
import type { TaskEvents } from '../../media/task-events.ts';
import type { SharedPool } from '../../operations/pool/pool.ts';
import type { ProviderHealth } from '../../routing/provider-health.ts';
import type { Routing } from '../../routing/routing.ts';
import type { AuditTrail } from '../../store/audit/log.ts';
import type { Store } from '../../store/store.ts';
import type { Tracer } from '../../telemetry/tracer.ts';
import type { BackgroundResponses } from '../../text/background/background.ts';
import type { TokenCounter } from '../../text/counting/token-counter.ts';
import type { TextGateway } from '../../text/gateway.ts';
import type { RowGateway } from '../../text/rows/gateway.ts';
import type { TextThreads } from '../../threads/text-threads.ts';
import type { Upstream } from '../../upstream/response.ts';
import type { RequestLimits } from '../limits/request-limits.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Spool } from '../uploads/spool.ts';

/** The methods of the media gateway that endpoints call. */
export type Media = Pick<MediaGateway, 'submit' | 'waitFor' | 'upload' | 'moderate' | 'transcribe'>;

/** The services that the endpoints use. */
export interface AppContext {
  /** The configuration in force. A reload replaces it: do not keep parts of it. */
  readonly config: Config;
  readonly configuration: ConfigurationSource;
  /** Null where the process does not offer it. */
  readonly reload: Reload | null;
  /** Version of Oriel, as in package.json. */
  readonly version: string;
  /** Whether equal requests get equal identifiers and times. */
  readonly isDeterministic: boolean;
  readonly store: Store;
  readonly audit: AuditTrail;
  /** What commands for providers and models need. */
  readonly catalog: CatalogContext;
  readonly limits: RequestLimits;
  readonly text: TextGateway;
  readonly background: BackgroundResponses;
  readonly tokenCounter: TokenCounter;
  readonly rows: RowGateway;
  readonly media: Media;
  readonly files: StoredFiles;
  readonly batches: Batches;
  /** The tasks that have not ended. */
  readonly tasks: Pick<TaskRunner, 'size' | 'queues'>;
  readonly taskAttempts: TaskAttempts;
  readonly taskEvents: TaskEvents;
  /** Those of text and of media. */
  readonly routings: readonly Routing[];
  readonly providerHealth: ProviderHealth;
  readonly alerts: Pick<AlertWatch, 'answered' | 'exhausted'>;
  readonly assets: AssetStorage;
  readonly pool: SharedPool;
  readonly textThreads: TextThreads;
  /** The network itself, without recordings of providers. */
  readonly upstream: Upstream;
  readonly spool: Spool;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Null while no traces are sent. A reload replaces it. */
  readonly tracer: Tracer | null;
  /** Base URL for clients: `https://oriel.example.com`. */
  readonly publicUrl: string;
  /** Aborts when the daemon begins to shut down: new work is refused from then on. */
  readonly draining: AbortSignal;
}
