import { join } from 'node:path';
import type { Config } from '../config/settings/schema.ts';
import type { Upstream } from '../upstream/response.ts';
import { DiskStorage } from './disk/disk-storage.ts';
import type { S3Operation } from './s3/client.ts';
import { S3Storage } from './s3/s3-storage.ts';
import type { AssetStorage } from './storage/asset-storage.ts';

type AssetSettings = Config['assets'];

interface AssetStorageOptions {
  /** Folder on the local disk; created if it does not exist. */
  readonly directory: string;
  /** Read once, except for credentials. */
  readonly settings: () => AssetSettings;
  readonly upstream: Upstream;
  /** Whether this node sweeps a bucket for all nodes. */
  readonly isLeader: () => boolean;
  /** Called with the identifier of a file that differs from what was written. */
  readonly onDamage: (id: string) => void;
  /** Called after every request to a service. @param outcome `ok`, or the code of the failure */
  readonly onRequest: (operation: S3Operation, outcome: string, milliseconds: number) => void;
}

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

/** Credentials of the settings in force, or those of the start where a reload chose another driver. */
function credentialsOf(now: AssetSettings, first: AssetSettings) {
  const isComplete = now.accessKeyId !== undefined && now.secretAccessKey !== undefined;
  const { accessKeyId = '', secretAccessKey = '', sessionToken } = isComplete ? now : first;
  return { accessKeyId, secretAccessKey, sessionToken };
}
