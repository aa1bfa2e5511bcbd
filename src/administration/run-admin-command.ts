import type { Actor } from '../store/audit/entry.ts';
import type { AuditTrail } from '../store/audit/log.ts';
import type { Store } from '../store/store.ts';
import type { AdminCommand } from './admin-command.ts';

export interface AdminContext {
  readonly store: Store;
  /** Opens the audit log; called only for commands that are recorded in it. */
  readonly audit: () => Promise<AuditTrail>;
  /** The user who runs the command. */
  readonly who: Actor;
}

/** Runs a command between two lines of the audit log, or without any where it only reads. */
export async function runAdminCommand(
  command: AdminCommand,
  options: never,
  { store, audit, who }: AdminContext,
): Promise<object> {
  if (command.audit === undefined) return command.run(store, options);
  const subject = (result: object | null) => command.audit!(options, result);
  const log = await audit();
  return log.record({ act: `${command.group}.${command.name}`, who, subject }, () =>
    command.run(store, options),
  );
}
