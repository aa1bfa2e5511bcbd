import { Failure } from '../../../failure.ts';
import type { MediaProvider } from '../provider.ts';

const missing = async () => {
  throw new Failure('service_error', 'The sandbox makes no media yet');
};

export const sandboxProvider: MediaProvider = {
  makeImages: missing,
  makeVideo: missing,
  makeAudio: missing,
  moderate: missing,
};
