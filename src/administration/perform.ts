import type { Actor } from '../store/audit/entry.ts';
import type { AuditTrail } from '../store/audit/log.ts';
import type { Store } from '../store/store.ts';
import type { Verb } from './verb.ts';

/** Where a verb works, and who asked for it. */
export interface Occasion {
  readonly store: Store;
  /** Opened for verbs that are in the audit log only. */
  readonly audit: () => Promise<AuditTrail>;
  readonly who: Actor;
}

/** Runs a verb of administration, between two lines of the audit log unless it only reads. */
export async function perform(
  verb: Verb,
  options: never,
  { store, audit, who }: Occasion,
): Promise<object> {
  if (verb.audit === undefined) return verb.run(store, options);
  const subject = (result: object | null) => verb.audit!(options, result);
  const log = await audit();
  return log.record({ act: `${verb.group}.${verb.name}`, who, subject }, () =>
    verb.run(store, options),
  );
}
