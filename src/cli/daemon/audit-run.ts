import { statSync } from 'node:fs';
import { parseSince } from '../../administration/fields.ts';
import { loadStoreSettings } from '../../config/loading/load.ts';
import { codedFailure } from '../../failure.ts';
import { type Act, AuditActs } from '../../store/audit/acts.ts';
import type { Actor } from '../../store/audit/entry.ts';
import { auditFolder } from '../../store/audit/log.ts';
import { readAudit } from '../../store/audit/read.ts';
import { type Flags, readFlags, usageFailure } from '../command/command.ts';
import { type Columns, printTable } from '../terminal/table.ts';
import { printJson, printStderr } from '../terminal/terminal.ts';
import { adminFlags, auditFlags } from './daemon-flags.ts';
import '../../text/built-in-dialects.ts';

const COLUMNS: Columns<Act> = {
  'TIME (UTC)': [({ at }) => at.slice(0, 19).replace('T', ' ')],
  WHO: [({ who }) => actorName(who), { minWidth: 8 }],
  ACT: [({ act }) => act, { minWidth: 12 }],
  OBJECT: [({ object }) => object, { minWidth: 8 }],
  FROM: [({ who }) => who.from, { dropOrder: 1 }],
  RESULT: [
    ({ result, code }) => (code === undefined ? result : `${result}: ${code}`),
    { minWidth: 7 },
  ],
};

/**
 * Prints the newest acts of the audit log, and checks that no line is missing.
 *
 * @returns the exit code
 * @throws Failure if there is no log
 */
export async function runAudit(flags: Flags): Promise<number> {
  const { since, limit, account, act } = readFlags(auditFlags, flags);
  const { json, config, data } = readFlags(adminFlags, flags);
  const from = since === undefined ? 0 : parseSince(since, Date.now());
  if (from === undefined) {
    throw usageFailure(
      `--since: expected a time such as 7d, 12h or 2027-01-31, received ${JSON.stringify(since)}`,
    );
  }
  const settings = () => loadStoreSettings({ file: config, env: process.env, cwd: process.cwd() });
  const folder = auditFolder(data ?? settings().dataDir);
  if (!statSync(folder, { throwIfNoEntry: false })) {
    throw codedFailure('no_audit', `${folder}: there is no audit log`);
  }
  const acts = new AuditActs({ from, limit, account, act });
  const faults: string[] = [];
  for await (const item of readAudit(folder)) {
    if ('fault' in item) faults.push(item.fault);
    else acts.add(item.entry);
  }
  if (json) await printJson({ acts: acts.newest, faults });
  else await printTable(COLUMNS, acts.newest);
  for (const fault of faults) printStderr(`oriel: audit log: ${fault}`);
  return faults.length > 0 ? 1 : 0;
}

function actorName({ user, uid, sudoUser, key }: Actor): string {
  if (key !== null) return key;
  const name = user ?? (uid === null ? '-' : `uid ${uid}`);
  return sudoUser === null ? name : `${name} (${sudoUser})`;
}
