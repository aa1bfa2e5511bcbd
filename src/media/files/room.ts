import type { DiskSpace } from '../../store/asset-files.ts';
import type { Work } from '../work.ts';

const MB = 2 ** 20;

/** Pixels of an image of which the client did not say the size. */
const USUAL_PIXELS = 1024 * 1024;

/** Bytes of a pixel of a PNG, as photographs have them. */
const BYTES_PER_PIXEL = 2;

/** Bytes of a second of video, and of a sound. */
const BYTES_PER_SECOND = MB;
const SOUND_BYTES = 4 * MB;

/** Room that the results of a work usually need on disk. */
export function roomFor(work: Work): DiskSpace {
  switch (work.type) {
    case 'image':
      return { bytes: work.n * pixelsOf(work.size) * BYTES_PER_PIXEL, files: work.n };
    case 'video':
      return { bytes: work.duration * BYTES_PER_SECOND, files: 1 };
    case 'audio':
      return { bytes: SOUND_BYTES, files: 1 };
  }
}

function pixelsOf(size: string | null): number {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(size ?? '') ?? [];
  return width === undefined ? USUAL_PIXELS : Number(width) * Number(height);
}
