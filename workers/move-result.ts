import { createRequire } from 'node:module';
import type { JobImage, JobResult } from '../src/operations/definition/job.ts';

/** CommonJS takes half the time of an ES module to load, and the pool has loaded half of it. */
const require = createRequire(import.meta.url);

/**
 * Returns a message of this thread to the main one, for which the bytes of a result's images are moved and not
 * copied.
 *
 * @param messageOf the message from the result with bytes that can be moved
 */
export function moveResult<Message>(
  result: JobResult,
  messageOf: (result: JobResult) => Message,
): Message {
  if (!result.ok || !(result.image || result.images)) return messageOf(result);
  const buffers: ArrayBuffer[] = [];
  const movable = (image: JobImage): JobImage => {
    // Memory of sharp or of a message cannot leave its thread; memory of our own can.
    const bytes = new Uint8Array(image.bytes);
    buffers.push(bytes.buffer);
    return { ...image, bytes };
  };
  const { image, images, ...rest } = result;
  const message = messageOf({
    ...rest,
    ...(image && { image: movable(image) }),
    ...(images && { images: images.map(movable) }),
  });
  // Imported here: on the main thread, which can run jobs too, no bytes are moved.
  const { move, transferableSymbol, valueSymbol } = require('piscina') as typeof import('piscina');
  return move({ [transferableSymbol]: buffers, [valueSymbol]: message } as never) as never;
}
