import {
  type ClaimedDeliveries,
  type Delivery,
  type DeliveryAttempt,
  type DeliveryOutcome,
  type DeliveryQuery,
  deliveryEnded,
  isDue,
  withAttempt,
} from '../../../delivery.ts';
import { notFound } from '../../../errors.ts';
import type { Records } from './records.ts';

/** The methods that claim deliveries and record their attempts. */
export class DeliveryWriter {
  readonly #records: Records;
  /** Identifiers of deliveries that this process has claimed. */
  readonly #claimed = new Set<string>();

  constructor(records: Records) {
    this.#records = records;
  }

  async claimDeliveries({ limit, exceptAccounts = [] }: DeliveryQuery): Promise<ClaimedDeliveries> {
    // A delivery that is being written could be sent although its task has not ended on disk.
    await this.#records.commits.synced()?.catch(() => {});
    const { state, commits, now } = this.#records;
    const at = now();
    const due: Delivery[] = [];
    let nextAt = Infinity;
    for (const [order, delivery] of state.deliveriesInState.oldest('pending')) {
      if (this.#claimed.has(delivery.id) || exceptAccounts.includes(delivery.accountId)) continue;
      if (!isDue(delivery, at)) nextAt = Math.min(nextAt, delivery.nextAt!);
      else if (commits.durable('deliveries', order) === delivery) due.push(delivery);
      else nextAt = at;
    }
    due.sort((one, other) => one.nextAt! - other.nextAt!);
    const deliveries = due.slice(0, limit);
    for (const { id } of deliveries) this.#claimed.add(id);
    if (due.length > limit) nextAt = at;
    return { deliveries, nextAt: nextAt === Infinity ? null : nextAt };
  }

  async recordAttempt(
    known: Delivery,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<Delivery> {
    const { deliveries, deliveryById } = this.#records.state;
    const order = deliveryById.order(known.id);
    if (order === undefined) {
      const isOver = await this.#records.archive.has('delivery', known.id);
      throw isOver ? deliveryEnded(known.id) : notFound('delivery', known.id);
    }
    const delivery = withAttempt(deliveries.rows.get(order)!, known, attempt, outcome);
    const transaction = this.#records.begin();
    transaction.changes.push(['deliveries', order, delivery]);
    await this.#records.commit(transaction);
    this.#claimed.delete(known.id);
    return delivery;
  }
}
