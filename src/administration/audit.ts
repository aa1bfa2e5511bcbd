import { basename, join } from 'node:path';
import type { Actor } from '../store/audit/entry.ts';
import { AuditLog, type AuditLogOptions } from '../store/audit/log.ts';
import type { Recovery } from '../store/options.ts';

/** The folder of the audit log in a data folder. */
export function auditFolder(dataDir: string): string {
  return join(dataDir, 'audit');
}

/** Opens the audit log of a data folder. Only the process that holds the store's lock may call this. */
export function openAudit(
  dataDir: string,
  self: Actor,
  options: Pick<AuditLogOptions, 'onEntry' | 'onFault'>,
): Promise<AuditLog> {
  return AuditLog.open({ folder: auditFolder(dataDir), self, ...options });
}

/** Records that a torn journal was repaired when the store was opened. */
export async function recordRecovery(
  log: AuditLog,
  who: Actor,
  { file, dropped, keptIn }: Recovery,
): Promise<void> {
  const details = { bytes: dropped, keptIn: basename(keptIn) };
  await log.append({ act: 'store.recover', who, result: 'done', object: basename(file), details });
}
