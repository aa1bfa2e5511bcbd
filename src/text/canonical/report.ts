import type { CacheResult } from '../../exchanges/cache/cached-request.ts';
import type { Failure } from '../../failure.ts';
import { AttemptLog } from '../../routing/attempt-log.ts';
import type { Trace } from '../../telemetry/trace.ts';
import type { Usage } from './events.ts';

/** How a request for text or embeddings was answered, for its log line, metrics and spans. Filled meanwhile. */
export class TextReport {
  /** Null where the request is not traced. */
  readonly trace: Trace | null;
  readonly attemptLog: AttemptLog;
  /** Tags by which usage is counted, as one text; empty without any. */
  readonly tags: string;
  /** Identifier in the configuration: names that clients choose for wildcards are unbounded. */
  model: string | null = null;
  /** Provider and upstream's model of the route that was tried last. */
  provider: string | null = null;
  upstreamModel: string | null = null;
  /** What was metered; null where nothing was. */
  usage: Usage | null = null;
  /** Micro-credits. */
  charge = 0;
  /** Null where neither the model nor the key has a cache. */
  cache: CacheResult | null = null;
  /** Paths of fields that the upstream's format cannot express and that were not sent, 20 at most. */
  dropped: readonly string[] = [];
  /** The failure inside a stream that had begun: its status was 200. */
  failure: Failure | null = null;

  constructor(trace: Trace | null = null, tags = '') {
    this.trace = trace;
    this.attemptLog = new AttemptLog(trace);
    this.tags = tags;
  }

  /** Tokens that were used, as limits count them. */
  get tokens(): number {
    return this.usage === null ? 0 : this.usage.input + this.usage.output;
  }

  /** Requests to providers. */
  get attempts(): number {
    return this.attemptLog.ended.length;
  }
}
