import type { Failure } from '../failure.ts';
import { conflict } from './errors.ts';

export const DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One attempt to deliver a callback. */
export interface DeliveryAttempt {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Status of the response; null if there was none. */
  readonly status: number | null;
  /** Error message; null if the callback was delivered. */
  readonly error: string | null;
  readonly milliseconds: number;
}

/**
 * Callback of one task that ended. It is recorded in the transaction that ends the task, so that there is
 * exactly one, and attempted until it is delivered or has failed. Times are milliseconds since the epoch.
 */
export interface Delivery {
  /** Value of the header `webhook-id` (`msg_…`), by which receivers recognise repeated callbacks. */
  readonly id: string;
  readonly accountId: string;
  readonly taskId: string;
  readonly url: string;
  readonly status: DeliveryState;
  /** The last attempts, oldest first. */
  readonly attempts: readonly DeliveryAttempt[];
  /** Number of older attempts that are no longer stored; absent if there are none. */
  readonly forgotten?: number;
  /** Time of the next attempt; null if there is none. */
  readonly nextAt: number | null;
  /** Time at which the task ended. */
  readonly createdAt: number;
}

/** State of a delivery after an attempt. */
export type DeliveryOutcome =
  | { readonly status: 'delivered' | 'failed' }
  | { readonly status: 'pending'; readonly nextAt: number };

/** Attempts that are stored. */
const ATTEMPTS = 50;

export function deliveryEnded(id: string): Failure {
  return conflict(
    `${id} was delivered or has failed: no further attempt is made`,
    'delivery_state',
  );
}

/** Number of attempts, which is the fence of a delivery: every recorded one raises it. */
export function attemptCount({ attempts, forgotten = 0 }: Delivery): number {
  return forgotten + attempts.length;
}

/** Whether a delivery is due. A clock that was set back since the last attempt must not delay it further. */
export function isDue({ nextAt, attempts, createdAt }: Delivery, now: number): boolean {
  return nextAt !== null && (nextAt <= now || now < (attempts.at(-1)?.at ?? createdAt));
}

export function deliveryLost({ id }: Delivery): Failure {
  return conflict(`another node has made the next attempt of ${id}`, 'claim_lost');
}

/**
 * A delivery with one more attempt.
 *
 * @param known the delivery as it was when the attempt was made
 * @throws Failure invalid_request, 409: `delivery_state` if it was delivered or has failed already,
 *   `claim_lost` if other attempts were recorded meanwhile
 */
export function withAttempt(
  delivery: Delivery,
  known: Delivery,
  attempt: DeliveryAttempt,
  outcome: DeliveryOutcome,
): Delivery {
  if (delivery.status !== 'pending') throw deliveryEnded(delivery.id);
  const count = attemptCount(delivery);
  if (count !== attemptCount(known)) throw deliveryLost(delivery);
  const attempts = [...delivery.attempts, attempt].slice(-ATTEMPTS);
  const forgotten = count + 1 - attempts.length;
  return {
    ...delivery,
    status: outcome.status,
    attempts,
    ...(forgotten > 0 && { forgotten }),
    nextAt: outcome.status === 'pending' ? outcome.nextAt : null,
  };
}

/** Which deliveries a node has room for. */
export interface DeliveryQuery {
  readonly limit: number;
  /** Accounts whose deliveries stay where they are, so that slow receivers of one delay no other. */
  readonly exceptAccounts?: readonly string[];
}

export interface ClaimedDeliveries {
  /** In the order of their times. */
  readonly deliveries: readonly Delivery[];
  /**
   * Time at which to claim again at the latest, in milliseconds since the epoch; null where nothing is
   * pending. Accounts that the query leaves out do not count.
   */
  readonly nextAt: number | null;
}
