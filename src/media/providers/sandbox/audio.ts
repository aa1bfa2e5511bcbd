import { setImmediate } from 'node:timers/promises';
import { Failure } from '../../../failure.ts';
import { SeededRandom } from '../../../images/scene/seeded-random.ts';
import type { AudioTaskRequest } from '../../task-request.ts';
import type { MediaJob, MediaOutput, ProviderContext } from '../provider.ts';
import { applyDirectives, expectModel, GARBAGE, usageOf } from './directives.ts';

/** Samples per second, of 16 bits and one channel. */
const SAMPLE_RATE = 24_000;

/** Durations in seconds. */
const DEFAULT_DURATION = 3;
const MAX_DURATION = 60;

/** Synthesises a melody of sines as a WAV file. */
export async function makeAudio(
  { request }: MediaJob<AudioTaskRequest>,
  context: ProviderContext,
): Promise<MediaOutput> {
  expectModel(context, 'audio');
  const { prompt, seed, voice, format } = request;
  const { garbage } = await applyDirectives(prompt, 'prompt', context.signal);
  const seconds = request.duration ?? DEFAULT_DURATION;
  if (format !== null && format !== 'wav')
    throw invalid('format', `the sandbox makes wav only, not ${format}`);
  if (seconds > MAX_DURATION) {
    throw invalid('duration', `the sandbox makes up to ${MAX_DURATION} seconds`);
  }
  const random = new SeededRandom(prompt, String(seed), String(voice));
  const bytes = garbage ? GARBAGE : await melody(random, seconds, context);
  return { files: [{ bytes }], usage: usageOf(prompt, 0, Math.ceil(seconds * 25)) };
}

function invalid(param: string, message: string): Failure {
  return new Failure('invalid_request', `${param}: ${message}`, { param });
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
  const file = Buffer.alloc(44 + samples * 2);
  wavHeader(samples).copy(file);
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
      file.writeInt16LE(Math.round(value * 32_767), 44 + sample * 2);
    }
    // A note takes a millisecond of CPU; yields to the event loop after each.
    await setImmediate();
    if (signal.aborted) throw signal.reason;
  }
  return file;
}

/** Header of a RIFF WAVE file with linear samples. */
function wavHeader(samples: number): Buffer {
  const bytes = samples * 2;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + bytes, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLE_RATE, 24);
  header.writeUInt32LE(SAMPLE_RATE * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(bytes, 40);
  return header;
}
