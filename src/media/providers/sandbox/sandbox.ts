import type { MediaProvider } from '../provider.ts';
import { makeAudio } from './audio.ts';
import { makeImages } from './images.ts';
import { moderate } from './moderation.ts';
import { makeVideo } from './video.ts';

/** Makes media by itself, the same for the same order, and asks nobody. */
export const sandboxProvider: MediaProvider = { makeImages, makeVideo, makeAudio, moderate };
