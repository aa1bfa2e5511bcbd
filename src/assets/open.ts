import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/settings/schema.ts';
import { codedFailure } from '../failure.ts';
import { diskFiles } from '../store/files.ts';
import { newId } from '../store/identifier.ts';
import type { Upstream } from '../upstream/response.ts';
import { DiskStorage } from './disk/disk-storage.ts';
import { Bucket } from './s3/bucket.ts';
import type { S3Operation } from './s3/client.ts';
import { S3Storage } from './s3/s3-storage.ts';
import type { AssetStorage } from './storage/asset-storage.ts';
import { chunksOf } from './storage/local-chunks.ts';
import { measureLocalFile } from './storage/spooled-file.ts';

type AssetSettings = Config['assets'];

interface AssetStorageOptions {
  /** Folder on the local disk; created if it does not exist. */
  readonly directory: string;
  /** Read once, except for credentials. */
  readonly settings: () => AssetSettings;
  readonly upstream: Upstream;
  /** Whether this node sweeps a bucket for all nodes. */
  readonly isLeader: () => boolean;
  /** Whether this process removes what crashes left in a folder: it started before all others that use the folder. */
  readonly isSweeper: boolean;
  /** Called with the identifier of a file that differs from what was written. */
  readonly onDamage: (id: string) => void;
  /** Called after every request to a service. @param outcome `ok`, or the code of the failure */
  readonly onRequest: (operation: S3Operation, outcome: string, milliseconds: number) => void;
}

/** Bytes of an object that S3 takes in one request. */
const MAX_OBJECT_BYTES = 5 * 2 ** 30;

/** Milliseconds until a connection to the service is open. */
const CONNECT_TIMEOUT_MS = 5000;

/** Opens the storage of files. Chooses the driver: nothing else imports one. */
export function openAssetStorage({
  directory,
  settings,
  onRequest: onAttempt,
  ...options
}: AssetStorageOptions): Promise<AssetStorage> {
  const first = settings();
  if (first.driver === 'disk') return DiskStorage.open(directory, options);
  const { redirect, endpoint = `https://s3.${first.region}.amazonaws.com` } = first;
  return S3Storage.open({
    ...first,
    ...options,
    spool: join(directory, 'spool'),
    endpoint,
    publicEndpoint: redirect?.endpoint ?? endpoint,
    // The check of the configuration requires it.
    bucket: first.bucket!,
    connectTimeout: Math.min(CONNECT_TIMEOUT_MS, first.timeout),
    linkSeconds: redirect ? Math.floor(redirect.expiry / 1000) : null,
    credentials: () => credentialsOf(settings(), first),
    onAttempt,
  });
}

/** Another bucket of the service, with the credentials of the settings. */
export function bucketOf(settings: AssetSettings, bucket: string, upstream: Upstream): Bucket {
  const endpoint = settings.endpoint ?? `https://s3.${settings.region}.amazonaws.com`;
  return new Bucket({
    ...{ ...settings, bucket, endpoint, publicEndpoint: endpoint, upstream },
    connectTimeout: Math.min(CONNECT_TIMEOUT_MS, settings.timeout),
    credentials: () => credentialsOf(settings, settings),
    onAttempt: () => {},
  });
}

/**
 * Stores a file in another bucket of the service.
 *
 * @throws Failure `output_exists` if the bucket has another object of that name that may not be replaced; `storage_unavailable`
 */
export async function storeInBucket(
  path: string,
  { bucket, key, overwrite }: { bucket: string; key: string; overwrite: boolean },
  settings: AssetSettings,
  upstream: Upstream,
): Promise<void> {
  const target = bucketOf(settings, bucket, upstream);
  const written = await measureLocalFile(diskFiles, path, MAX_OBJECT_BYTES);
  const content = () => chunksOf(() => open(path, 'r'));
  if (await target.put(key, written, content, { overwrite })) return;
  throw codedFailure('output_exists', `s3://${bucket}/${key} exists already`);
}

/** Lists, stores and deletes in the bucket, with an object of its own. @throws Failure `storage_unavailable` */
export async function probeBucket(settings: AssetSettings, upstream: Upstream): Promise<void> {
  // The check of the configuration requires it.
  const target = bucketOf(settings, settings.bucket!, upstream);
  await target.list(settings.prefix, 1).next();
  const bytes = Buffer.from(newId('probe'));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const key = `${settings.prefix}${bytes.toString()}`;
  await target.put(key, { bytes: bytes.length, sha256 }, async function* () {
    yield bytes;
  });
  await target.delete([key]);
}

/** Credentials of the settings in force, or those of the start where a reload chose another driver. */
function credentialsOf(now: AssetSettings, first: AssetSettings) {
  const isComplete = now.accessKeyId !== undefined && now.secretAccessKey !== undefined;
  const { accessKeyId = '', secretAccessKey = '', sessionToken } = isComplete ? now : first;
  return { accessKeyId, secretAccessKey, sessionToken };
}
