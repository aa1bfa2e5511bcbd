import { S3Client } from '../../src/assets/s3/client.ts';
import { UpstreamClient } from '../../src/upstream/client.ts';
import { CEPH_CREDENTIALS } from '../engines/ceph.ts';

/** Makes a bucket. @returns the setting `assets` for it */
export async function newBucket(
  { endpoint }: { readonly endpoint: string },
  bucket: string,
): Promise<object> {
  const upstream = new UpstreamClient();
  const client = new S3Client({
    upstream,
    bucketUrl: `${endpoint}/${bucket}`,
    region: 'us-east-1',
    credentials: () => CEPH_CREDENTIALS,
    connectTimeout: 5000,
    timeout: 20_000,
    connections: 1,
    onAttempt: () => {},
  });
  await client.send('put', { method: 'PUT', path: '', accepted: [200] });
  await upstream.close();
  const place = { driver: 's3', endpoint, region: 'us-east-1', bucket, forcePathStyle: true };
  return { ...place, ...CEPH_CREDENTIALS };
}
