import type { InputFile, MediaJob } from '../../src/media/provider/provider.ts';
import type {
  AudioTaskRequest,
  ImageTaskRequest,
  TaskRequest,
  VideoTaskRequest,
} from '../../src/media/task/task-request.ts';

const PROMPTED = { prompt: 'a lighthouse at dusk', seed: null, user: null };

/** A task's request for one image of any size. */
export const IMAGE: ImageTaskRequest = {
  ...PROMPTED,
  type: 'image',
  edit: false,
  n: 1,
  size: null,
  native: false,
  quality: null,
  inputs: [],
  mask: null,
};

export const VIDEO: VideoTaskRequest = {
  ...PROMPTED,
  type: 'video',
  size: null,
  duration: 4,
  inputs: [],
};

export const AUDIO: AudioTaskRequest = {
  ...PROMPTED,
  type: 'audio',
  voice: null,
  format: null,
  duration: null,
};

export function jobOf<Request extends TaskRequest>(
  request: Request,
  inputs: readonly InputFile[] = [],
  mask: InputFile | null = null,
): MediaJob<Request> {
  return { request, inputs, mask };
}
