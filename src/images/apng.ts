import { pngChunks } from './png-chunks.ts';

/**
 * How many frames a PNG says it has: more than one where it is animated (APNG 1.0, the chunk acTL
 * before the first image data). The decoder knows nothing of it and reads the first.
 */
export function countApngFrames(bytes: Uint8Array): number {
  for (const { name, data } of pngChunks(bytes)) {
    if (name === 'acTL' && data.length >= 4) return Math.max(1, data.readUInt32BE(0));
    if (name === 'IDAT') break;
  }
  return 1;
}
