import { type Delivery, deliveryEnded, isDue, withAttempt } from '../../../delivery.ts';
import { notFound } from '../../../errors.ts';
import type { Store } from '../../../store.ts';
import type { Records } from './records.ts';

/** The methods that claim deliveries and record their attempts. */
export function deliveryMethods(
  records: Records,
): Pick<Store, 'claimDeliveries' | 'recordAttempt'> {
  /** Identifiers of deliveries that this process has claimed. */
  const claimed = new Set<string>();
  return {
    async claimDeliveries({ limit, exceptAccounts = [] }) {
      const { commits, now } = records;
      // A delivery that is being written could be sent although its task has not ended on disk.
      await commits.synced()?.catch(() => {});
      const at = now();
      const due: Delivery[] = [];
      let nextAt = Infinity;
      for (const [order, delivery] of records.state.deliveriesInState.oldest('pending')) {
        if (claimed.has(delivery.id) || exceptAccounts.includes(delivery.accountId)) continue;
        if (!isDue(delivery, at)) nextAt = Math.min(nextAt, delivery.nextAt!);
        else if (commits.durable('deliveries', order) === delivery) due.push(delivery);
        else nextAt = at;
      }
      due.sort((one, other) => one.nextAt! - other.nextAt!);
      const deliveries = due.slice(0, limit);
      for (const { id } of deliveries) claimed.add(id);
      if (due.length > limit) nextAt = at;
      return { deliveries, nextAt: nextAt === Infinity ? null : nextAt };
    },
    async recordAttempt(known, attempt, outcome) {
      const stored = records.state.deliveryById.get(known.id);
      if (!stored) {
        const isOver = await records.archive.has('delivery', known.id);
        throw isOver ? deliveryEnded(known.id) : notFound('delivery', known.id);
      }
      const delivery = withAttempt(stored, known, attempt, outcome);
      const transaction = records.begin();
      transaction.putDelivery(delivery);
      await records.commit(transaction);
      claimed.delete(known.id);
      return delivery;
    },
  };
}
