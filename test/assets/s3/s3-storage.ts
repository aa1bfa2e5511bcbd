import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { S3Storage, type S3StorageOptions } from '../../../src/assets/s3/s3-storage.ts';
import { UpstreamClient } from '../../../src/upstream/client.ts';
import { temporaryFolder } from '../../oriel.ts';

/** A storage on a service with the bucket `bucket`. */
export async function s3Storage(
  options: Pick<S3StorageOptions, 'endpoint' | 'region' | 'credentials'> &
    Partial<S3StorageOptions>,
) {
  const spool = options.spool ?? join(temporaryFolder(), 'spool');
  const upstream = new UpstreamClient();
  onTestFinished(() => upstream.close());
  const attempts: string[] = [];
  const reported: string[] = [];
  const storage = await S3Storage.open({
    upstream,
    spool,
    bucket: 'bucket',
    prefix: '',
    forcePathStyle: true,
    publicEndpoint: options.endpoint,
    connectTimeout: 5000,
    timeout: 20_000,
    connections: 16,
    linkSeconds: null,
    isLeader: () => true,
    onDamage: (id) => reported.push(id),
    onAttempt: (operation, outcome) => attempts.push(`${operation} ${outcome}`),
    ...options,
  });
  return { storage, attempts, reported, spooled: () => readdirSync(spool) };
}
