import { ADMIN_COMMANDS } from '../../administration/registry.ts';
import { databaseState } from '../../store/drivers/open.ts';
import type { IntegrityReport } from '../../store/integrity.ts';
import { countedRecords } from '../terminal/terminal.ts';
import { configured, type Finding, failed, judged, ok, type Run, skipped } from './check.ts';

export const isFinding = (result: Finding | object): result is Finding => 'remedy' in result;

export function adminCommand(group: string, name: string) {
  return ADMIN_COMMANDS.find((command) => command.group === group && command.name === name)!;
}

export const audit: Run = async ({ inStore }) => {
  const result = await inStore(adminCommand('store', 'audit'));
  if (isFinding(result)) return result;
  const { faults, ...counts } = result as IntegrityReport;
  const remedy = 'Restore the last backup that audits clean, and report the defect.';
  if (faults.length > 0) return faults.slice(0, MAX_FAULTS).map((text) => failed(text, remedy));
  return ok(`the sums of ${countedRecords(counts)} agree with their records`);
};

const MAX_FAULTS = 10;

/** Seconds by which nodes may differ from the database before leases end early. */
const SKEW_MS = 2000;

export const database: Run = configured(async ({ store }) => {
  if (store.driver !== 'postgres') return skipped('the store is in the data folder');
  const found = await databaseState(store);
  const { server, schema, known, used, most, skew, milliseconds } = found;
  const text = `PostgreSQL ${server}, schema version ${schema} of ${known}, ${used} of ${most} connections, ${milliseconds} ms`;
  if (schema > known) return failed(text, 'Run the version of Oriel that migrated the schema.');
  const checks: readonly Finding[] = [
    judged(text, { warns: schema < known }, 'The next start migrates it; make a backup first.'),
    judged(
      `${most - used} connections are free, and a node uses ${store.poolSize + 1}`,
      { warns: most - used <= store.poolSize },
      'Raise max_connections of PostgreSQL, or lower store.poolSize.',
    ),
    judged(
      `the clock is ${skew} ms from the database's`,
      { warns: Math.abs(skew) > SKEW_MS },
      'Synchronise both clocks by NTP.',
    ),
  ];
  return checks.filter(({ status }, index) => index === 0 || status !== 'ok');
});
