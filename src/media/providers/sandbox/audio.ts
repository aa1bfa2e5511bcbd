import { setImmediate } from 'node:timers/promises';
import { SeededRandom } from '../../../operations/sandbox/seeded-random.ts';
import { invalid } from '../../../schema/invalid.ts';
import type { MediaJob, MediaOutput, ProviderContext } from '../../provider/provider.ts';
import { type AudioTaskRequest, voiceName } from '../../task/task-request.ts';
import { applyDirectives, estimateUsage, expectModel, GARBAGE } from './directives.ts';
import { wavFile } from './wav.ts';

/** It has no encoder of mp3, which most SDKs ask for: other formats get WAV. */
export const AUDIO_FORMATS: readonly string[] = ['wav', 'pcm'];

/** Samples per second, of 16 bits and one channel. */
const SAMPLE_RATE = 24_000;

/** Durations in seconds. */
const DEFAULT_DURATION = 3;
const MAX_DURATION = 60;

/** Synthesises a melody of sines, whose WAV file has the prompt as its comment. */
export async function makeAudio(
  { request }: MediaJob<AudioTaskRequest>,
  context: ProviderContext,
): Promise<MediaOutput> {
  expectModel(context, 'audio');
  const { prompt, seed, voice, format, instructions, speed = 1 } = request;
  const { garbage } = await applyDirectives(prompt, 'prompt', context.signal);
  if (request.duration !== null && request.duration > MAX_DURATION) {
    throw invalid('duration', `the sandbox makes up to ${MAX_DURATION} seconds`);
  }
  const seconds = request.duration ?? DEFAULT_DURATION / speed;
  const voiceText = String(voice && voiceName(voice));
  const random = new SeededRandom(
    prompt,
    String(seed),
    voiceText,
    ...(instructions === undefined ? [] : [instructions]),
  );
  const usage = estimateUsage(prompt, 0, Math.ceil(seconds * 25));
  if (garbage) return { files: [{ bytes: GARBAGE }], usage };
  const samples = await melody(random, seconds, context);
  const bytes = format === 'pcm' ? samples : wavFile(samples, SAMPLE_RATE, prompt);
  return { files: [{ bytes }], usage };
}

/** Major pentatonic scale in semitones, in which no two tones are dissonant. */
const SCALE = [0, 2, 4, 7, 9, 12] as const;

const NOTES_PER_SECOND = 3;

async function melody(
  random: SeededRandom,
  seconds: number,
  { signal }: ProviderContext,
): Promise<Buffer> {
  const samples = Math.round(seconds * SAMPLE_RATE);
  const bytes = Buffer.alloc(samples * 2);
  const root = random.between(180, 320);
  const length = Math.floor(SAMPLE_RATE / NOTES_PER_SECOND);
  for (let start = 0; start < samples; start += length) {
    const pitch = root * 2 ** (random.of(SCALE) / 12);
    for (let sample = start; sample < Math.min(samples, start + length); sample += 1) {
      const time = (sample - start) / SAMPLE_RATE;
      // Rises within 10 ms and decays, so that notes do not click.
      const amplitude = Math.min(1, time / 0.01) * Math.exp(-4 * time) * 0.45;
      const phase = 2 * Math.PI * pitch * time;
      const value = amplitude * (Math.sin(phase) + 0.3 * Math.sin(2 * phase));
      bytes.writeInt16LE(Math.round(value * 32_767), sample * 2);
    }
    // A note takes a millisecond of CPU; yields to the event loop after each.
    await setImmediate();
    if (signal.aborted) throw signal.reason;
  }
  return bytes;
}
