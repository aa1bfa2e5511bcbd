import type { DiskSpace } from '../../assets/disk-space.ts';
import type { TaskRequest } from '../task-request.ts';

const MB = 2 ** 20;

/** Pixels of an image whose size the client left to the model. */
const DEFAULT_PIXELS = 1024 * 1024;

/** Bytes per pixel of a photograph as PNG. */
const BYTES_PER_PIXEL = 2;

const VIDEO_BYTES_PER_SECOND = MB;
const AUDIO_BYTES = 4 * MB;

/** Disk space that the results of a task usually need. */
export function expectedDiskSpace(request: TaskRequest): DiskSpace {
  switch (request.type) {
    case 'image':
      return { bytes: request.n * pixelsOf(request.size) * BYTES_PER_PIXEL, files: request.n };
    case 'video':
      return { bytes: request.duration * VIDEO_BYTES_PER_SECOND, files: 1 };
    case 'audio':
      return { bytes: AUDIO_BYTES, files: 1 };
  }
}

function pixelsOf(size: string | null): number {
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(size ?? '') ?? [];
  return width === undefined ? DEFAULT_PIXELS : Number(width) * Number(height);
}
