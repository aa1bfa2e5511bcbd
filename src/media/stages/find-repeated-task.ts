import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { isObject } from '../../schema/untrusted.ts';
import type { MediaCall } from '../task/call.ts';
import type { Stage } from './stage.ts';

/**
 * Finds the task of an earlier request with the same Idempotency-Key. It comes before the model: a reload may
 * have removed that or changed what it accepts.
 */
export const findRepeatedTask: Stage = async (submission, { store }) => {
  const { holder, idempotencyKey: key } = submission.call;
  if (key === null) return;
  const idempotency = { key, fingerprint: await fingerprintOf(submission.call) };
  submission.idempotency = idempotency;
  submission.task = await store.findTaskByIdempotencyKey(holder.account.id, idempotency);
};

/** Digest of a request's endpoint, fields (in any order) and files. */
async function fingerprintOf({ kind, fields, images = [], mask }: MediaCall): Promise<string> {
  // The number of images distinguishes a last image from a mask.
  const content = sorted({ fields, images: images.length });
  const hash = createHash('sha256').update(JSON.stringify([kind, content]));
  for (const one of mask ? [...images, mask] : images) {
    const digest = createHash('sha256');
    const chunks = 'url' in one ? [one.url] : createReadStream(one.path);
    for await (const chunk of chunks) digest.update(chunk as Uint8Array);
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
