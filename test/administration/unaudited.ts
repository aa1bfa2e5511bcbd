import { ownActor } from '../../src/administration/actor.ts';
import type { AuditTrail } from '../../src/store/audit/log.ts';

/** An audit log that stores nothing, and an actor. */
export const UNAUDITED: { audit: AuditTrail; who: ReturnType<typeof ownActor> } = {
  audit: { record: (_, work) => work() },
  who: ownActor(),
};
