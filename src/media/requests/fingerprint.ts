import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { isObject } from '../../schema/untrusted.ts';

/**
 * Digest of a request's endpoint, fields (in any order) and files, by which requests with the same
 * Idempotency-Key are compared.
 *
 * @param files paths
 */
export async function fingerprint(
  endpoint: string,
  fields: unknown,
  files: readonly string[],
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([endpoint, sorted(fields)]));
  for (const path of files) {
    const digest = createHash('sha256');
    for await (const chunk of createReadStream(path)) digest.update(chunk as Uint8Array);
    hash.update(digest.digest());
  }
  return hash.digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  return Object.keys(value)
    .sort()
    .map((name) => [name, sorted(value[name])]);
}
