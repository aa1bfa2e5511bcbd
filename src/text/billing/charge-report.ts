import type { CacheResult } from '../../exchanges/cache/cached-request.ts';
import type { RoutingObserver } from '../../routing/observer.ts';
import type { Usage } from '../canonical/events.ts';
import type { TextReport } from '../canonical/report.ts';
import type { Charge } from './meter.ts';

/** Events of a gateway, for metrics and the log. */
export interface TextObserver extends RoutingObserver {
  /** A request was charged. */
  used(model: string, usage: Usage): void;
  /** A request ended whose model or key has a cache. */
  cached(model: string, result: CacheResult): void;
  /** A provider reported more usage than the request allowed; the excess was not charged. */
  exceeded(excess: ExceededUsage): void;
}

interface ExceededUsage {
  readonly requestId: string;
  readonly model: string;
  readonly reported: Usage;
  readonly charged: Usage;
}

/** Reports the charge for a request, whose model has been found, to its log line and to metrics. */
export function reportCharge(
  { used, charge, excess }: Charge,
  { report, requestId }: { readonly report: TextReport; readonly requestId: string },
  observer: TextObserver,
): void {
  const model = report.model!;
  report.usage = used;
  report.charge = charge;
  observer.used(model, used);
  if (excess) observer.exceeded({ requestId, model, reported: excess, charged: used });
}
