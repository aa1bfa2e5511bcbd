import { moderate } from '../moderations.ts';
import { type Pace, pace } from '../polling.ts';
import type { MediaProvider } from '../provider.ts';
import { makeImages } from './images.ts';
import { makeSpeech } from './speech.ts';
import { makeVideo } from './videos.ts';

/** OpenAI, and the many that speak as it does. */
export function openaiProvider(looks: Pace = pace): MediaProvider {
  return {
    makeImages,
    makeVideo: (order, workshop) => makeVideo(order, workshop, looks),
    makeAudio: makeSpeech,
    moderate,
  };
}
