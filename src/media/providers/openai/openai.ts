import { moderate } from '../moderations.ts';
import { type PollDelay, pollDelay } from '../polling.ts';
import type { MediaProvider } from '../provider.ts';
import { transcribe } from '../transcriptions.ts';
import { makeImages } from './images.ts';
import { makeSpeech } from './speech.ts';
import { makeVideo } from './videos.ts';

/** OpenAI and compatible providers. */
export function openaiProvider(delay: PollDelay = pollDelay): MediaProvider {
  return {
    makeImages,
    makeVideo: (job, context) => makeVideo(job, context, delay),
    makeAudio: makeSpeech,
    moderate,
    transcribe,
  };
}
