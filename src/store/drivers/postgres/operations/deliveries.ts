import {
  type Delivery,
  type DeliveryAttempt,
  type DeliveryOutcome,
  deliveryLost,
  withAttempt,
} from '../../../delivery.ts';
import { notFound } from '../../../errors.ts';
import type { RowOperation } from '../transactions/batch.ts';

interface Attempt {
  /** The delivery as it was when the attempt was made. */
  readonly known: Delivery;
  readonly attempt: DeliveryAttempt;
  readonly outcome: DeliveryOutcome;
}

/** @param mayRecord whether this node may record an attempt of a delivery that a node has claimed */
export function recordAttempt(
  { known, attempt, outcome }: Attempt,
  mayRecord: (node: string) => boolean,
): RowOperation<Delivery> {
  return {
    needs: { deliveries: [known.id] },
    apply(batch) {
      const row = batch.deliveries.get(known.id);
      if (!row) throw notFound('delivery', known.id);
      const delivery = withAttempt(row.delivery, known, attempt, outcome);
      if (row.node !== null && !mayRecord(row.node)) throw deliveryLost(known);
      batch.putDelivery(delivery);
      return delivery;
    },
  };
}
