import type { Config } from '../../config/settings/schema.ts';
import type { ExactCache } from '../../exchanges/cache/exact-cache.ts';
import type { RouteAffinity } from '../../routing/affinity.ts';
import type { Routing } from '../../routing/routing.ts';
import type { Store } from '../../store/store.ts';
import type { LightAbortSignal } from '../../upstream/abort-signal.ts';
import type { Upstream } from '../../upstream/response.ts';
import type { TextObserver } from '../billing/charge-report.ts';
import type { TextExecution } from '../execution/execution.ts';
import type { FileContents } from '../execution/insert-files.ts';
import type { Drains } from '../relay/drains.ts';

/** Milliseconds after the end of a request in which the next one of the same client may follow. */
const LINGER_MS = 30;

/** Requests for which clients wait, so that work in the background gives way to them. */
export class Activity {
  #active = 0;
  #endedAt = -Infinity;

  get isBusy(): boolean {
    return this.#active > 0 || performance.now() - this.#endedAt < LINGER_MS;
  }

  /** Counts a request while it is answered. @param isBackground whether no client waits for it */
  during<Result>(isBackground: true | undefined, work: () => Promise<Result>): Promise<Result> {
    if (isBackground) return work();
    this.#active += 1;
    return work().finally(() => {
      this.#active -= 1;
      this.#endedAt = performance.now();
    });
  }
}

export interface TextGatewayOptions {
  /** Returns the configuration in force. */
  readonly config: () => Config;
  readonly store: Store;
  readonly upstream: Upstream;
  readonly cache: ExactCache;
  readonly observer: TextObserver;
  readonly activity: Activity;
  readonly files: FileContents;
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
