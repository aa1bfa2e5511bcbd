import { moderate } from '../../provider/moderations.ts';
import { type PollDelay, pollDelay } from '../../provider/polling.ts';
import type { MediaProvider } from '../../provider/provider.ts';
import { transcribe } from '../../provider/transcriptions.ts';
import { makeImages } from './images.ts';
import { makeSpeech } from './speech.ts';
import { makeVideo } from './videos.ts';

/** OpenAI and compatible providers. */
export function openaiProvider(delay: PollDelay = pollDelay): MediaProvider {
  return {
    imageFields: null,
    audioFormats: null,
    advice: { image: ['user'], video: [], audio: [] },
    makeImages,
    makeVideo: (job, context) => makeVideo(job, context, delay),
    makeAudio: makeSpeech,
    moderate,
    transcribe,
  };
}
