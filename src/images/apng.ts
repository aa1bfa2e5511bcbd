import { pngChunks } from './png-chunks.ts';

/**
 * The number of frames of a PNG: more than one if it is animated (APNG 1.0, the chunk acTL before the
 * first image data). The decoder does not support APNG and reads the first frame.
 */
export function countApngFrames(bytes: Uint8Array): number {
  for (const { name, data } of pngChunks(bytes)) {
    if (name === 'acTL' && data.length >= 4) return Math.max(1, data.readUInt32BE(0));
    if (name === 'IDAT') break;
  }
  return 1;
}
