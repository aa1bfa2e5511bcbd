import type { Config } from '../../config/settings/schema.ts';
import type { ExactCache } from '../../exchanges/cache/exact-cache.ts';
import type { RouteAffinity } from '../../routing/affinity.ts';
import type { Routing } from '../../routing/routing.ts';
import type { Store } from '../../store/store.ts';
import type { LightAbortSignal } from '../../upstream/abort-signal.ts';
import type { Upstream } from '../../upstream/response.ts';
import type { TextObserver } from '../billing/charge-report.ts';
import type { TextExecution } from '../execution/execution.ts';
import type { Drains } from '../relay/drains.ts';

export interface TextGatewayOptions {
  /** Returns the configuration in force. */
  readonly config: () => Config;
  readonly store: Store;
  readonly upstream: Upstream;
  readonly cache: ExactCache;
  readonly observer: TextObserver;
  /**
   * Checks the words of a request whose answer may hold images.
   *
   * @param param the request's field that the failure names
   * @throws Failure content_policy
   */
  readonly admitPrompt: (prompt: string, param: string, accountId: string) => Promise<void>;
}

/** What all requests to a gateway share. */
export interface GatewayServices extends TextGatewayOptions {
  readonly routing: Routing;
  readonly affinity: RouteAffinity;
  readonly drains: Drains;
  /** The clients of the requests that are being answered. */
  readonly open: Set<LightAbortSignal>;
  /** Bytes of the conversations that requests in progress have rebuilt. */
  readonly rebuilt: { bytes: number };
}

/**
 * One stage of answering a request. It reads fields of the execution that earlier stages set, and sets others.
 *
 * @throws Failure where the client was sent nothing yet; no later stage runs
 */
export type Stage = (execution: TextExecution, services: GatewayServices) => void | Promise<void>;
