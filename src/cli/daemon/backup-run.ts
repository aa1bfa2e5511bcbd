import { devNull } from 'node:os';
import { resolve } from 'node:path';
import { BucketBackups, bucketPlace } from '../../backup/bucket.ts';
import { openOrigin, openStored, restoreBackup, splitName } from '../../backup/restore.ts';
import { runBackup } from '../../backup/run.ts';
import { loadConfig, loadStoreSettings } from '../../config/loading/load.ts';
import { checkDataFolder } from '../../store/data-folder.ts';
import { openStore } from '../../store/drivers/open.ts';
import { UpstreamClient } from '../../upstream/client.ts';
import { counted } from '../../words.ts';
import { type CommandInput, readFlags, usageFailure } from '../command/command.ts';
import { countedRecords, humanBytes, print, printJson, printStderr } from '../terminal/terminal.ts';
import { adminFlags, backupFlags, restoreFlags } from './daemon-flags.ts';
import '../../text/built-in-dialects.ts';

/** The configuration that flags name. With `--data` it may be missing or invalid. */
function settingsOf(config: string | undefined, data: string | undefined) {
  const source = { file: config, env: process.env, cwd: process.cwd() };
  const settings = () => {
    try {
      return loadStoreSettings(source);
    } catch (error) {
      if (data === undefined || config !== undefined) throw error;
      return loadStoreSettings({ ...source, file: devNull });
    }
  };
  const found = settings();
  return {
    ...found,
    dataDir: data === undefined ? found.dataDir : resolve(data),
    file: found.file === devNull ? null : found.file,
    // Keys of providers may be unset.
    assets: () => loadConfig({ ...source, without: [['providers'], ['models']] }).config.assets,
  };
}

/** Backs up the data folder, beside its daemon or without one. @returns the exit code */
export async function backup({ positionals, flags }: CommandInput, program: string) {
  const { config, data, json } = readFlags(adminFlags, flags);
  const { keep } = readFlags(backupFlags, flags);
  const to = String(positionals[0]);
  if (to.endsWith('.tar') && keep !== undefined) {
    throw usageFailure('--keep: a file is one backup; name a folder or s3://BUCKET/PREFIX');
  }
  const settings = settingsOf(config, data);
  await checkDataFolder(settings.dataDir);
  const upstream = new UpstreamClient();
  try {
    const report = await runBackup(to, settings, { program, keep, upstream });
    if (json) await printJson(report);
    else {
      const { place, files, bytes, copiedFiles, copiedBytes, removed } = report;
      const all = `${counted(files, 'file')}, ${humanBytes(bytes)}`;
      await print(`${place}: ${all}; copied ${copiedFiles} of them, ${humanBytes(copiedBytes)}\n`);
      for (const name of removed) printStderr(`removed ${name}`);
    }
    return 0;
  } finally {
    await upstream.close();
  }
}

/** Verifies a backup, and writes it into an empty folder. @returns the exit code: 1 where a sum does not agree */
export async function restore({ positionals, flags }: CommandInput) {
  const { config, json, into, dryRun } = readFlags(restoreFlags, flags);
  if (into === undefined && !dryRun) throw usageFailure('--into is required, or --dry-run');
  const from = String(positionals[0]);
  const upstream = new UpstreamClient();
  try {
    const [base, name] = splitName(from);
    const place = bucketPlace(base);
    const origin = place
      ? await openStored(
          new BucketBackups(place, settingsOf(config, undefined).assets(), upstream),
          name,
        )
      : await openOrigin(from);
    try {
      if (dryRun && !json) {
        for (const { path, bytes } of origin.manifest.files) await print(`${path}  ${bytes}\n`);
      }
      const database =
        origin.manifest.store.driver === 'postgres' && config !== undefined
          ? await restoredDatabase(config)
          : null;
      const report = await restoreBackup(origin, dryRun ? null : resolve(into!), database).finally(
        () => database?.close(),
      );
      if (json) await printJson(report);
      else await print(`${sentenceOf(report, dryRun ? 'would write' : 'wrote')}\n`);
      for (const fault of report.faults) printStderr(`oriel: ${fault}`);
      return report.faults.length > 0 ? 1 : 0;
    } finally {
      await origin.close();
    }
  } finally {
    await upstream.close();
  }
}

/** The database that a configuration names; null where its records are in files. */
async function restoredDatabase(config: string) {
  const { store: settings, assets } = settingsOf(config, undefined);
  if (settings.driver === 'lowdb') return null;
  const store = await openStore({ directory: '', settings, isCommand: true });
  const hasFiles = assets().driver === 'disk';
  return { records: store.transfer.read(), hasFiles, close: () => store.close() };
}

function sentenceOf(
  { name, files, bytes, audit, driver, faults }: Awaited<ReturnType<typeof restoreBackup>>,
  verb: string,
): string {
  const written = `${name}: ${verb} ${counted(files, 'file')}, ${humanBytes(bytes)}; every hash agrees`;
  if (driver === 'postgres' && audit === null) {
    return `${written}; the records are in the backup of the database: --config compares a restored one`;
  }
  if (audit === null) return written;
  const sums = faults.length === 0 ? 'every sum agrees' : 'sums differ';
  return `${written}; ${countedRecords(audit)}; ${sums}`;
}
