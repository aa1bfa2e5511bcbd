import { resolve } from 'node:path';
import * as v from 'valibot';
import type { Config } from '../../config/settings/schema.ts';
import { processes } from '../../config/settings/server.ts';
import { integer, optional, withDefault } from '../../schema/fields.ts';
import { flag, textField, textFlag, usageFailure } from '../command/command.ts';

const json = flag('print the result as JSON');

const deterministic = flag('fix ids and times of answers, so that equal requests get equal bytes');

const store = {
  config: textFlag('configuration; default oriel.yaml', 'a file', { path: true }),
  data: textFlag("folder of Oriel's data", 'a folder', { path: true }),
};

const folder = (description: string) => textFlag(description, 'a folder', { path: true });

/** Where exchanges with providers are kept, and what is done with them. */
const cassetteFlags = v.strictObject({
  record: folder('record every exchange with a provider in this folder'),
  replay: folder('answer from the recordings in this folder, without a network'),
  recordMissing: folder('answer from this folder, and record what is missing'),
  timing: flag('replay as slowly as the provider has answered'),
  used: textFlag('append the names of replayed recordings to this file', 'a file', { path: true }),
});

/** Flags that override the configuration. */
export const serveFlags = v.strictObject({
  ...store,
  host: textFlag('address to listen on', 'an address'),
  port: optional(integer(0, 65_535), 'port to listen on; 0 for any free port'),
  processes: optional(processes, 'processes that serve the port; auto for one on each core'),
  acceptClock: flag('start although the clock is more than a day ahead of the newest record'),
  newStore: flag('create a new store in a data folder whose store is gone'),
  ...cassetteFlags.entries,
  dev: flag('accept any ORIEL_BOOTSTRAP_KEY, for development on your machine'),
  deterministic,
  logFormat: optional(
    v.picklist(['auto', 'pretty', 'json']),
    'format of the log on standard output',
  ),
});

/** The folder whose processes `oriel restart` replaces. */
export const restartFlags = v.strictObject(store);

/** What `oriel with` takes before the command. */
export const withFlags = v.strictObject({
  config: store.config,
  ...cassetteFlags.entries,
  deterministic,
  report: textFlag('write the report to this file, not to standard error', 'a file', {
    path: true,
  }),
  json: flag('write the report as JSON'),
  log: textFlag('append the log of the daemon to this file', 'a file', { path: true }),
});

/** The store that an administration command works on, and the format of its result. */
export const adminFlags = v.strictObject({ ...store, json });

const place = (description: string) =>
  textField(
    description,
    'a data folder, a URL as postgres://host/database?schema=oriel, or env:NAME of one',
    { path: true },
  );

/** The stores that `oriel store copy` reads and writes. */
export const storeCopyFlags = v.strictObject({
  from: place('store to copy; no daemon may use it'),
  to: place('an empty store'),
  json,
});

/** How `oriel backup` and `oriel restore` work. */
export const backupFlags = v.strictObject({
  keep: optional(integer(1, 10_000), 'remove old backups beyond this many'),
});
export const restoreFlags = v.strictObject({
  into: folder('write to this folder, which must be empty or not exist yet'),
  dryRun: flag('verify every file and list them, but write nothing'),
  config: store.config,
  json,
});

/** Where and how `oriel requests export` writes. */
export const exportFlags = v.strictObject({
  overwrite: flag('replace a file or an object that exists'),
});

/** Longest text of a filter, in characters. */
const maxLength = 200;

/** The acts that `oriel audit` shows. */
export const auditFlags = v.strictObject({
  since: textFlag(
    'only changes since then',
    'such as 7d, 12h, 2027-01-31 or 2027-01-31T12:00:00Z',
    { maxLength },
  ),
  limit: withDefault(integer(1, 10_000), 50, 'most changes to show, the newest'),
  account: textFlag(
    'only changes of this account, or by its keys',
    'the name or the id of an account',
    { maxLength },
  ),
  act: textFlag(
    'only changes of this kind',
    'such as keys.create, or keys for all changes of keys',
    { maxLength },
  ),
});

export const configPrintFlags = v.strictObject({ json: flag('print JSON instead of YAML') });

type CassetteFlags = v.InferOutput<typeof cassetteFlags>;
type Cassettes = Config['cassettes'];

/** The setting `cassettes` with the flags for it. @throws Failure where flags contradict each other */
export function cassettesOf(
  setting: Cassettes,
  { record, replay, recordMissing, timing, used }: CassetteFlags,
): Cassettes {
  const modes = Object.entries({ record, replay, 'record-missing': recordMissing });
  const given = modes.filter(([, dir]) => dir !== undefined) as [Cassettes['mode'], string][];
  if (given.length > 1) throw usageFailure('give one of --record, --replay and --record-missing');
  const [[mode, dir] = [setting.mode, setting.dir]] = given;
  if ((timing || used !== undefined) && (mode === 'off' || mode === 'record')) {
    throw usageFailure(`${timing ? '--timing' : '--used'} needs --replay`);
  }
  return {
    mode,
    dir: resolve(dir),
    timing: timing || setting.timing,
    used: used === undefined ? setting.used : resolve(used),
  };
}

/** Whether no provider is asked; undefined where the configuration says so. */
export function isReplay({ record, replay, recordMissing }: CassetteFlags): boolean | undefined {
  if (replay !== undefined) return true;
  return record !== undefined || recordMissing !== undefined ? false : undefined;
}
