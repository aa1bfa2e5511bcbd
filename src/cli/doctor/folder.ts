import { constants } from 'node:fs';
import { access, open, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkDataFolder } from '../../store/data-folder.ts';
import { SecretKeys, secretKeyFile } from '../../store/secret-key.ts';
import { temporaryName } from '../../temporary.ts';
import { humanBytes } from '../terminal/terminal.ts';
import {
  type Examined,
  type Finding,
  failed,
  judged,
  ok,
  type Run,
  skipped,
  warning,
} from './check.ts';

const NOT_YET = 'the data folder does not exist yet; the first start makes it';

const isThere = async (path: string) => (await stat(path).catch(() => null)) !== null;

/** The data folder, or the nearest folder above it in which it will be made. */
async function existing(dataDir: string): Promise<string> {
  const parent = dirname(dataDir);
  return parent === dataDir || (await isThere(dataDir)) ? dataDir : existing(parent);
}

const AS_ITS_USER = 'Run sudo -u USER oriel doctor, with the user of the daemon.';

/** Files that hold keys, below the data folder. */
const PRIVATE = ['first-key', 'admin.json'];

export const permissions: Run = async ({ dataDir, config, daemon }) => {
  const findings: Finding[] = [];
  const refusal = await foreign({ dataDir });
  // Root may read all files.
  if (refusal !== null && process.getuid?.() !== 0) return failed(refusal, AS_ITS_USER);
  for (const found of await checkDataFolder(dataDir)) {
    findings.push(warning(found, 'Give it to the user of the daemon alone: chown, chmod go-w.'));
  }
  // Its failures say what to do.
  SecretKeys.read(secretKeyFile(dataDir, config?.secretKeyFile));
  for (const file of PRIVATE.map((name) => join(dataDir, name))) {
    const found = await stat(file).catch(() => null);
    if (found && found.mode & 0o077) {
      findings.push(failed(`${file}: others may read it`, `Run chmod 600 ${file}.`));
    }
    if (found && file.endsWith('first-key')) {
      findings.push(warning(`${file}: has the owner's key`, 'Store the key, delete the file.'));
    }
  }
  const folders = [await existing(dataDir)];
  if (config?.log.file !== undefined) {
    const folder = dirname(config.log.file);
    // The daemon makes one folder.
    folders.push((await isThere(folder)) ? folder : dirname(folder));
  }
  for (const folder of daemon ? [] : folders) {
    await access(folder, constants.W_OK | constants.X_OK).catch(({ message }: Error) => {
      findings.push(failed(message, `Let the user of the daemon write in ${folder}.`));
    });
  }
  if (findings.length > 0) return findings;
  return ok((await isThere(dataDir)) ? `${dataDir}: only its owner may write` : NOT_YET);
};

/** Share of files that may still be made, below which a disk is short of them. */
const FEW_FILES = 0.01;

/** Bytes without which the next checkpoint may fail. */
const LEAST_FREE = 64e6;

export const space: Run = async ({ dataDir, config }) => {
  const { bavail, blocks, bsize, files, ffree } = await statfs(await existing(dataDir));
  if (blocks === 0) return skipped('the file system does not tell its size');
  const free = bavail * bsize;
  const least = config?.alerts.diskFree ?? 0;
  const fewFiles = files > 0 && ffree / files < FEW_FILES;
  const text = `${humanBytes(free)} free of ${humanBytes(blocks * bsize)}`;
  return judged(
    fewFiles ? `${text}, ${ffree} files left` : text,
    { fails: free < LEAST_FREE, warns: free < least || fewFiles },
    'Free space, or move the data folder to a larger disk.',
  );
};

/** File systems by the number that statfs(2) gives. */
const VOLATILE: Readonly<Record<number, string>> = { 16914836: 'tmpfs', 2240043254: 'ramfs' };
const OVERLAY: Readonly<Record<number, string>> = { 2035054128: 'overlay' };
const NETWORK: Readonly<Record<number, string>> = {
  ...{ 26985: 'nfs', 4283649346: 'cifs', 4266872130: 'smb2', 16914839: '9p', 12805120: 'ceph' },
};

const FSYNCS = 15;
const BLOCK = Buffer.alloc(4096, 1);
const SEQUENTIAL_BYTES = 16 * 2 ** 20;

/** Milliseconds: no disk keeps a block in less, and with more every commit is slow. */
const IMPLAUSIBLE_MS = 0.03;
const SLOW_MS = 50;
const SLOW_BYTES_PER_SECOND = 20e6;

export const disk: Run = async (examined) => {
  const { dataDir } = examined;
  if (!(await isThere(dataDir))) return skipped(NOT_YET);
  const refusal = await foreign(examined);
  if (refusal !== null) return skipped(refusal);
  const { fsync, bytesPerSecond } = await measure(join(dataDir, temporaryName(0)));
  const speed = `fsync ${fsync.toPrecision(2)} ms, ${humanBytes(bytesPerSecond)}/s`;
  const type = (await statfs(dataDir)).type;
  if (VOLATILE[type]) {
    const text = `${speed}; ${VOLATILE[type]} is memory: a restart loses accounts and credits`;
    return failed(text, 'Put the data folder on a disk.');
  }
  if (OVERLAY[type]) {
    const text = `${speed}; overlay is a layer of the container, which ends with it`;
    return warning(text, 'Mount a volume at the data folder.');
  }
  if (NETWORK[type]) {
    const text = `${speed}; ${NETWORK[type]} may lose locks and writes`;
    return warning(text, 'Use a local disk, or PostgreSQL and a bucket.');
  }
  if (fsync < IMPLAUSIBLE_MS) {
    const text = `${speed}: too fast for a disk: a power cut may lose acknowledged writes`;
    return warning(text, "Turn off write caching without a battery, or the hypervisor's cache.");
  }
  const warns = fsync > SLOW_MS || bytesPerSecond < SLOW_BYTES_PER_SECOND;
  return judged(speed, { warns }, 'Use a faster disk: each commit waits for one fsync.');
};

/** Why this user must not write in the data folder; null where it may. */
export async function foreign({ dataDir }: Pick<Examined, 'dataDir'>): Promise<string | null> {
  const owner = (await stat(dataDir).catch(() => null))?.uid;
  const own = process.getuid?.();
  return owner === undefined || own === undefined || owner === own
    ? null
    : `the data folder belongs to user ${owner}; run this command as that user`;
}

async function measure(file: string) {
  const handle = await open(file, 'wx', 0o600);
  try {
    const times: number[] = [];
    const timed = async (work: () => Promise<unknown>) => {
      const began = performance.now();
      await work();
      return performance.now() - began;
    };
    for (let count = 0; count < FSYNCS; count += 1) {
      await handle.write(BLOCK);
      times.push(await timed(() => handle.sync()));
    }
    times.sort((one, other) => one - other);
    const milliseconds = await timed(async () => {
      await handle.write(Buffer.alloc(SEQUENTIAL_BYTES, 1));
      await handle.sync();
    });
    const bytesPerSecond = (SEQUENTIAL_BYTES / milliseconds) * 1000;
    return { fsync: times[Math.floor(FSYNCS / 2)]!, bytesPerSecond };
  } finally {
    await handle.close();
    await rm(file, { force: true });
  }
}
