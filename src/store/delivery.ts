import type { Failure } from '../failure.ts';
import { conflict } from './errors.ts';

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One try to tell somebody. */
export interface DeliveryAttempt {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Of the answer; null where there was none. */
  readonly status: number | null;
  /** What went wrong; null where it was delivered. */
  readonly error: string | null;
  readonly milliseconds: number;
}

/**
 * The callback of one task that ended. It is recorded with the end itself, so that there is exactly
 * one, and tried until it is delivered or given up. Times are milliseconds since 1970.
 */
export interface Delivery {
  /** What receivers tell repeated callbacks by: the header `webhook-id`, `msg_…`. */
  readonly id: string;
  readonly accountId: string;
  readonly taskId: string;
  readonly url: string;
  readonly status: DeliveryState;
  /** In their order. */
  readonly attempts: readonly DeliveryAttempt[];
  /** When it is to be tried next; null once it is not. */
  readonly nextAt: number | null;
  /** When the task ended. */
  readonly createdAt: number;
}

/** What becomes of a delivery after a try. */
export type DeliveryOutcome =
  | { readonly status: 'delivered' | 'failed' }
  | { readonly status: 'pending'; readonly nextAt: number };

/** Tries that are remembered. */
const ATTEMPTS = 50;

export function deliveryEnded(id: string): Failure {
  return conflict(`${id} has been delivered or given up: it is not tried again`, 'delivery_state');
}

/**
 * A delivery after one more try.
 *
 * @throws Failure invalid_request, 409 `delivery_state`, where it has been delivered or given up
 */
export function withAttempt(
  delivery: Delivery,
  attempt: DeliveryAttempt,
  outcome: DeliveryOutcome,
): Delivery {
  if (delivery.status !== 'pending') throw deliveryEnded(delivery.id);
  return {
    ...delivery,
    status: outcome.status,
    attempts: [...delivery.attempts, attempt].slice(-ATTEMPTS),
    nextAt: outcome.status === 'pending' ? outcome.nextAt : null,
  };
}
