import { CLAIM_KEPT_MS, decideAlerts, MAX_ALERTS } from '../../../alert.ts';
import type { Store } from '../../../store.ts';
import type { Records } from './records.ts';

/** The methods for alerts. */
export function alertMethods(records: Records) {
  const { bookedState: state, now } = records;
  const { alerts, alertClaims, claimBySubject } = state;
  return {
    async raiseAlerts(requests) {
      return records.change(({ changes }) => {
        const { raised, added, claims, changed } = decideAlerts(
          requests,
          (subject) => claimBySubject.get(subject),
          now(),
        );
        for (const claim of changed) {
          const order = claimBySubject.order(claim.subject) ?? alertClaims.newOrder();
          changes.push(['alertClaims', order, claim]);
        }
        if (added.length > 0) {
          for (const alert of added) changes.push(['alerts', alerts.newOrder(), alert]);
          const excess = Math.max(0, alerts.size + added.length - MAX_ALERTS);
          const orders = [...alerts.rows.keys()].slice(0, excess);
          for (const order of orders) changes.push(['alerts', order, null]);
          for (const [order, { subject, until }] of alertClaims.rows) {
            const isOld = until + CLAIM_KEPT_MS <= now();
            if (isOld && !changed.some((claim) => claim.subject === subject)) {
              changes.push(['alertClaims', order, null]);
            }
          }
        }
        return { raised, claims };
      });
    },
    listAlerts: (limit) =>
      records.readRows(() => [...alerts.rows.values()].reverse().slice(0, limit)),
  } satisfies Partial<Store>;
}
