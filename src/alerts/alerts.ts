import type { TestedWebhook } from '../administration/catalog-context.ts';
import type { Config } from '../config/settings/schema.ts';
import { remember } from '../maps.ts';
import {
  type Alert,
  type AlertClaim,
  type AlertRecords,
  type AlertRequest,
  mayRaise,
} from '../store/alert.ts';
import { newId } from '../store/identifier.ts';
import type { Upstream } from '../upstream/response.ts';
import type { Condition } from './condition.ts';
import { AlertWebhooks, type DeliveryEnd, testAlert } from './webhooks.ts';

/** Milliseconds until conditions that came together are recorded together, and until a failed store is asked again. */
const COLLECT_MS = 200;
const RETRY_MS = 5000;

/** Conditions that wait for the store, and those of one transaction. */
const MAX_PENDING = 10_000;
const PART = 500;

/** Claims that are remembered, so that a condition that lasts does not ask the store at each check. */
const MAX_KNOWN = 100_000;

interface AlertsOptions {
  readonly store: AlertRecords & { readonly now: number };
  readonly upstream: Upstream;
  readonly settings: () => Pick<Config, 'alerts' | 'network'>;
  /** How people reach this server, without a slash at the end. */
  readonly publicUrl: () => string;
  readonly onAlert: (alert: Alert) => void;
  readonly onDelivery: (
    alert: Alert,
    webhook: string,
    end: DeliveryEnd,
    reason: string | null,
  ) => void;
  /** Called with the number of conditions that were forgotten because too many waited. */
  readonly onDropped: (count: number) => void;
  readonly onFault: (error: unknown) => void;
  readonly backoff?: (attempts: number) => number | null;
}

/** Raises alerts of conditions, once in each window, and sends them. Nothing waits for it. */
export class Alerts {
  readonly #options: AlertsOptions;
  readonly #webhooks: AlertWebhooks;
  /** The latest condition of each subject. */
  readonly #pending = new Map<string, AlertRequest & { readonly isLocal: boolean }>();
  readonly #known = new Map<string, AlertClaim>();
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #recording: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: AlertsOptions) {
    this.#options = options;
    const { upstream, settings, onFault, onDelivery: onEnd, backoff } = options;
    this.#webhooks = new AlertWebhooks({
      ...{ upstream, settings, onFault, onEnd },
      ...(backoff && { backoff }),
    });
  }

  /** When alerts of a condition that lasts may come again. */
  get times(): { readonly now: number; readonly repeat: number } {
    return { now: this.#options.store.now, repeat: this.#options.settings().alerts.repeat };
  }

  /** Raises an alert, unless one was raised in its window. */
  raise(condition: Condition): void {
    const { type, message, about, figures, place, isLocal = false, ...claim } = condition;
    const { store, publicUrl } = this.#options;
    const { subject } = claim;
    // A recovery is decided by the store alone: another node may have raised the alert before it.
    const known = claim.isFollowUp ? undefined : this.#known.get(subject);
    if (this.#isClosed || (known && !mayRaise(claim, known, store.now))) return;
    if (!this.#pending.has(subject) && this.#pending.size >= MAX_PENDING) {
      this.#dropped += 1;
      return;
    }
    const link = `${publicUrl()}/console/${place}`;
    const content = { type, at: store.now, message, subject: about, figures, link };
    const alert: Alert = { id: newId('alert'), ...content };
    this.#pending.set(subject, { ...claim, alert, isLocal });
    this.#recordIn(COLLECT_MS);
  }

  /** Sends a test alert to one webhook, or to all. @throws Failure 404 for an unknown name */
  test(name: string | undefined): Promise<readonly TestedWebhook[]> {
    const { store, publicUrl } = this.#options;
    return this.#webhooks.test(testAlert(publicUrl(), store.now), name);
  }

  /** @returns the number of alerts that were not delivered yet */
  async close(): Promise<number> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#recording;
    const { waiting } = this.#webhooks;
    await this.#webhooks.close();
    return waiting;
  }

  #recordIn(milliseconds: number): void {
    this.#timer ??= setTimeout(() => {
      this.#recording = this.#record().finally(() => {
        this.#timer = undefined;
        if (this.#pending.size > 0 && !this.#isClosed) this.#recordIn(RETRY_MS);
      });
    }, milliseconds).unref();
  }

  async #record(): Promise<void> {
    if (this.#dropped > 0) this.#options.onDropped(this.#dropped);
    this.#dropped = 0;
    while (this.#pending.size > 0 && !this.#isClosed) {
      const part = [...this.#pending.values()].slice(0, PART);
      try {
        const { raised, claims } = await this.#options.store.raiseAlerts(part);
        // What was raised of a subject meanwhile waits for the next turn.
        for (const request of part) this.#forget(request);
        for (const claim of claims) this.#remember(claim);
        for (const alert of raised) this.#deliver(alert);
      } catch (error) {
        this.#options.onFault(error);
        this.#raiseLocally();
        return;
      }
    }
  }

  /** Raises what is of this node alone while the store takes nothing: a full disk must not hide itself. */
  #raiseLocally(): void {
    for (const request of [...this.#pending.values()].filter(({ isLocal }) => isLocal)) {
      this.#forget(request);
      this.#remember(request);
      this.#deliver(request.alert);
    }
  }

  #forget(request: AlertRequest): void {
    if (this.#pending.get(request.subject) === request) this.#pending.delete(request.subject);
  }

  #remember({ subject, window, level, until }: AlertClaim): void {
    remember(this.#known, subject, { subject, window, level, until }, MAX_KNOWN);
  }

  #deliver(alert: Alert): void {
    this.#options.onAlert(alert);
    this.#webhooks.send(alert);
  }
}
