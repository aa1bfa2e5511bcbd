import { setMaxListeners } from 'node:events';
import type { TestedWebhook } from '../administration/catalog-context.ts';
import type { Config } from '../config/settings/schema.ts';
import type { Failure } from '../failure.ts';
import { FairSemaphore } from '../fair-semaphore.ts';
import { getOrInsert } from '../maps.ts';
import { invalid } from '../schema/invalid.ts';
import type { Alert } from '../store/alert.ts';
import { newId } from '../store/identifier.ts';
import { Sums } from '../store/sums.ts';
import { sleep } from '../upstream/abort-signal.ts';
import { UpstreamClient } from '../upstream/client.ts';
import { networkPolicyOf } from '../upstream/network-policy.ts';
import type { Upstream } from '../upstream/response.ts';
import {
  type AttemptResult,
  attemptDelivery,
  bodyOf,
  headersOf,
  retryDelay,
} from '../upstream/webhook.ts';

/** Alerts that wait for one webhook, or for its next attempt. Further ones are dropped, and counted. */
const MAX_WAITING = 1000;

/** Concurrent attempts at one webhook. */
const MAX_CONCURRENT = 4;

/** Attempts to deliver an alert, over one and a half hours. */
const MAX_ATTEMPTS = 7;

type Settings = Pick<Config, 'alerts' | 'network'>;
type Webhook = Settings['alerts']['webhooks'][number];

/** What became of an alert: `dropped` where too many waited, or where the webhook was removed meanwhile. */
export type DeliveryEnd = 'delivered' | 'failed' | 'dropped';

interface WebhooksOptions {
  readonly upstream: Upstream;
  readonly settings: () => Settings;
  /** @param reason null where it was delivered */
  readonly onEnd: (alert: Alert, webhook: string, end: DeliveryEnd, reason: string | null) => void;
  /** Called with errors of this program. */
  readonly onFault: (error: unknown) => void;
  /** Milliseconds until the next attempt after a number of them; null for none. */
  readonly backoff?: (attempts: number) => number | null;
}

/**
 * Sends alerts to webhooks as Standard Webhooks. They wait in memory: each webhook has a queue of its own, so
 * that one that is down delays nothing else.
 */
export class AlertWebhooks {
  readonly #options: WebhooksOptions;
  readonly #backoff: (attempts: number) => number | null;
  readonly #closing = new AbortController();
  readonly #semaphores = new Map<string, FairSemaphore>();
  /** Number of waiting alerts by webhook. */
  readonly #waiting = new Sums();
  readonly #running = new Set<Promise<void>>();

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#backoff =
      options.backoff ??
      ((attempts) => (attempts < MAX_ATTEMPTS ? retryDelay(attempts, Math.random()) : null));
    setMaxListeners(0, this.#closing.signal);
  }

  /** Alerts that are not delivered yet, of all webhooks. */
  get waiting(): number {
    return this.#running.size;
  }

  /** Sends an alert to all webhooks that are there for it. Never waits. */
  send(alert: Alert): void {
    for (const { name, events } of this.#options.settings().alerts.webhooks) {
      if (events && !events.includes(alert.type)) continue;
      if (this.#waiting.of(name) >= MAX_WAITING) {
        this.#options.onEnd(alert, name, 'dropped', `${MAX_WAITING} alerts wait for the webhook`);
        continue;
      }
      this.#waiting.add(name, 1);
      const running = this.#deliver(name, alert)
        .catch((error: unknown) => {
          if (!this.#closing.signal.aborted) this.#options.onFault(error);
        })
        .finally(() => {
          this.#running.delete(running);
          this.#waiting.add(name, -1);
        });
      this.#running.add(running);
    }
  }

  /** Sends an alert once to one webhook, or to all of them, and waits for their answers. */
  async test(alert: Alert, name?: string): Promise<readonly TestedWebhook[]> {
    const { webhooks } = this.#options.settings().alerts;
    const chosen = webhooks.filter((webhook) => name === undefined || webhook.name === name);
    if (chosen.length === 0 && name !== undefined) throw unknownWebhook(name, webhooks);
    return Promise.all(
      chosen.map(async (webhook) => {
        const start = performance.now();
        const { status, error, verdict } = await this.#attempt(webhook, alert);
        const milliseconds = Math.round(performance.now() - start);
        const isDelivered = verdict === 'delivered';
        return { name: webhook.name, isDelivered, status, error, milliseconds };
      }),
    );
  }

  /** Aborts what is under way. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the daemon shuts down'));
    await Promise.all(this.#running);
  }

  async #deliver(name: string, alert: Alert): Promise<void> {
    const semaphore = getOrInsert(this.#semaphores, name, () => new FairSemaphore(MAX_CONCURRENT));
    const { settings, onEnd } = this.#options;
    for (let attempts = 1; ; attempts += 1) {
      const release = await semaphore.acquire(name);
      let result: AttemptResult;
      try {
        const webhook = settings().alerts.webhooks.find((one) => one.name === name);
        if (!webhook) return onEnd(alert, name, 'dropped', 'the webhook was removed');
        result = await this.#attempt(webhook, alert);
      } finally {
        release();
      }
      if (result.verdict === 'delivered') return onEnd(alert, name, 'delivered', null);
      const delay = result.verdict === 'retry' ? this.#backoff(attempts) : null;
      if (delay === null) return onEnd(alert, name, 'failed', result.error);
      await sleep(delay, this.#closing.signal);
    }
  }

  #attempt({ url, secret }: Webhook, { id, type, at, ...data }: Alert): Promise<AttemptResult> {
    const { upstream, settings } = this.#options;
    const body = bodyOf(type, at, { id, ...data });
    const headers = headersOf(id, body, [secret], Date.now());
    const networkPolicy = networkPolicyOf(settings().network);
    const { signal } = this.#closing;
    const options = { networkPolicy, signal, isOwn: true };
    return attemptDelivery(upstream, { url, headers, body }, options);
  }
}

/** @param publicUrl how people reach the server, without a slash at the end */
export function testAlert(publicUrl: string, at: number): Alert {
  return {
    ...{ id: newId('alert'), type: 'alert.test', at, subject: {}, figures: {} },
    message: 'This is a test of a webhook. Alerts look like it.',
    link: `${publicUrl}/console/alerts`,
  };
}

/** Sends a test alert from a process without a daemon. */
export async function testWebhooks(config: Config, name: string | undefined) {
  const upstream = new UpstreamClient();
  const { publicUrl, host, port } = config.server;
  const webhooks = new AlertWebhooks({
    ...{ upstream, settings: () => config, onEnd: () => {}, onFault: () => {} },
  });
  try {
    return await webhooks.test(testAlert(publicUrl ?? `http://${host}:${port}`, Date.now()), name);
  } finally {
    await upstream.close();
  }
}

function unknownWebhook(name: string, webhooks: readonly Webhook[]): Failure {
  const names = webhooks.map((webhook) => webhook.name).join(', ') || 'no webhook';
  const message = `expected a webhook of alerts.webhooks (${names}), received ${JSON.stringify(name)}`;
  return invalid('name', message, undefined, 404);
}
