import { writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AdminCommand } from '../../administration/admin-command.ts';
import { readAdminEndpoint } from '../../administration/admin-endpoint.ts';
import { listRequests, requestTable } from '../../administration/requests.ts';
import { loadConfig } from '../../config/loading/load.ts';
import { codedFailure } from '../../failure.ts';
import { printable } from '../../operations/batch/filename.ts';
import type { RequestRecord } from '../../store/requests/record.ts';
import { makeTemporaryFolder } from '../../temporary.ts';
import { UpstreamClient } from '../../upstream/client.ts';
import { counted } from '../../words.ts';
import { type CommandInput, type Flags, readFlags, usageFailure } from '../command/command.ts';
import { Writer } from '../files/writer.ts';
import { print, printStderr } from '../terminal/terminal.ts';
import { readAdminInput } from './admin-run.ts';
import { adminFlags, exportFlags } from './daemon-flags.ts';
import { type AdminRequest, administer } from './store-access.ts';

/** Requests of one part of an export, and of one look at the newest. */
const PART = 5000;
const NEWEST = 200;

/** Requests with which a tail begins. */
const FIRST = 10;

/** Milliseconds between two looks. */
const INTERVAL_MS = 1000;

interface Part {
  readonly requests: readonly RequestRecord[];
  readonly next: number | null;
}

const command = listRequests as unknown as AdminCommand;

/** One part of the requests that match. */
async function partOf(request: AdminRequest, page: Readonly<Record<string, number>>) {
  const input = { ...request.input, ...page };
  const options = { ...(request.options as object), ...page };
  return (await administer(command, { ...request, input, options })).result as Part;
}

/** Prints requests as they end, until the process is interrupted. */
export async function tailRequests(flags: Flags): Promise<number> {
  const { request } = await readAdminInput(command, {}, flags);
  const { json } = readFlags(adminFlags, flags);
  if (readAdminEndpoint(request.dataDir) === undefined) {
    throw codedFailure('unreachable', `${request.dataDir}: no daemon runs on this folder`);
  }
  let seen = new Set<number>();
  for (let limit = FIRST; ; limit = NEWEST) {
    const { requests } = await partOf(request, { limit });
    const fresh = requests.filter(({ number }) => !seen.has(number)).toReversed();
    for (const one of fresh) await print(json ? `${JSON.stringify(one)}\n` : lineOf(one));
    if (requests.length > 0) seen = new Set(requests.map(({ number }) => number));
    await delay(INTERVAL_MS);
  }
}

/** A row of the table, for lines that come one after another. */
function lineOf(request: RequestRecord): string {
  const [, cells = []] = requestTable([request]).rows;
  return `${cells.map(printable).join('  ')}\n`;
}

/** Writes the requests that match to a file, to standard output or to an object of S3. */
export async function exportRequests({ positionals, flags }: CommandInput): Promise<number> {
  const to = String(positionals[0]);
  const { overwrite } = readFlags(exportFlags, flags);
  const { request } = await readAdminInput(command, {}, flags);
  const target = bucketIn(to);
  let count = 0;
  const lines = async (write: (text: string) => unknown) => {
    for (let after: number | null = Number.MAX_SAFE_INTEGER; after !== null; ) {
      const part: Part = await partOf(request, { limit: PART, after });
      count += part.requests.length;
      await write(part.requests.map((one) => `${JSON.stringify(one)}\n`).join(''));
      after = part.next;
    }
  };
  const writeTo = (path: string) =>
    new Writer({ overwrite }).write(path, (descriptor) =>
      lines((text) => writeAll(descriptor, Buffer.from(text))),
    );
  if (to === '-') await lines(print);
  else if (target === null) await writeTo(to);
  else await exportToBucket({ ...target, overwrite }, flags, writeTo);
  printStderr(`${counted(count, 'request')} exported`);
  return 0;
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
}

/** The object that an argument names; null for a file. */
function bucketIn(to: string) {
  if (!to.startsWith('s3://')) return null;
  const [, bucket, key] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\/(.+)$/.exec(to) ?? [];
  if (bucket !== undefined && key !== undefined && !key.endsWith('/')) return { bucket, key };
  throw usageFailure(`<to>: expected s3://BUCKET/KEY, received ${JSON.stringify(to)}`);
}

async function exportToBucket(
  target: { readonly bucket: string; readonly key: string; readonly overwrite: boolean },
  flags: Flags,
  writeTo: (path: string) => Promise<unknown>,
): Promise<void> {
  const { config: file } = readFlags(adminFlags, flags);
  const { assets } = loadConfig({ file, env: process.env, cwd: process.cwd() }).config;
  if (assets.accessKeyId === undefined) {
    throw usageFailure('s3:// needs assets.driver: s3 with its credentials in the configuration');
  }
  const folder = makeTemporaryFolder('export');
  const upstream = new UpstreamClient();
  try {
    const path = join(folder.path, 'requests.jsonl');
    await writeTo(path);
    const { storeInBucket } = await import('../../assets/open.ts');
    await storeInBucket(path, target, assets, upstream);
  } finally {
    folder.remove();
    await upstream.close();
  }
}
