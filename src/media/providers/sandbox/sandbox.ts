import type { MediaProvider } from '../../provider/provider.ts';
import { AUDIO_FORMATS, makeAudio } from './audio.ts';
import { makeImages } from './images.ts';
import { moderate } from './moderation.ts';
import { transcribe } from './transcription.ts';
import { makeVideo } from './video.ts';

/** Makes media in this process; the same job always gives the same output. */
export const sandboxProvider: MediaProvider = {
  imageFields: ['output_format', 'output_compression'],
  audioFormats: AUDIO_FORMATS,
  advice: { image: ['seed'], video: ['seed'], audio: ['seed'] },
  makeImages,
  makeVideo,
  makeAudio,
  moderate,
  transcribe,
};
