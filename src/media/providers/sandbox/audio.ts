import { setImmediate } from 'node:timers/promises';
import { Failure } from '../../../failure.ts';
import { SeededRandom } from '../../../images/scene/seeded-random.ts';
import type { AudioWork } from '../../work.ts';
import type { Order, Production, Workshop } from '../provider.ts';
import { expectModel, GARBAGE, obey, usageOf } from './prompt.ts';

/** Samples a second, of 16 bits and one channel. */
const RATE = 24_000;

/** Seconds. */
const USUAL = 3;
const LONGEST = 60;

/** A melody of sines as a WAV file. */
export async function makeAudio(
  { work }: Order<AudioWork>,
  workshop: Workshop,
): Promise<Production> {
  expectModel(workshop, 'audio');
  const { prompt, seed, voice, format } = work;
  const { garbage } = await obey(prompt, 'prompt', workshop.signal);
  const seconds = work.duration ?? USUAL;
  if (format !== null && format !== 'wav')
    throw invalid('format', `the sandbox makes wav only, not ${format}`);
  if (seconds > LONGEST) throw invalid('duration', `the sandbox makes up to ${LONGEST} seconds`);
  const random = new SeededRandom(prompt, String(seed), String(voice));
  const bytes = garbage ? GARBAGE : await melody(random, seconds, workshop);
  return { products: [{ bytes }], usage: usageOf(prompt, 0, Math.ceil(seconds * 25)) };
}

function invalid(param: string, message: string): Failure {
  return new Failure('invalid_request', `${param}: ${message}`, { param });
}

/** Steps of a scale in which no two tones sound wrong together, in semitones (major pentatonic). */
const SCALE = [0, 2, 4, 7, 9, 12] as const;

/** Notes a second. */
const PACE = 3;

async function melody(
  random: SeededRandom,
  seconds: number,
  { signal }: Workshop,
): Promise<Buffer> {
  const samples = Math.round(seconds * RATE);
  const file = Buffer.alloc(44 + samples * 2);
  header(samples).copy(file);
  const root = random.between(180, 320);
  const length = Math.floor(RATE / PACE);
  for (let start = 0; start < samples; start += length) {
    const pitch = root * 2 ** (random.of(SCALE) / 12);
    for (let sample = start; sample < Math.min(samples, start + length); sample += 1) {
      const time = (sample - start) / RATE;
      // Rises within 10 ms and dies away, so that nothing clicks.
      const loudness = Math.min(1, time / 0.01) * Math.exp(-4 * time) * 0.45;
      const turn = 2 * Math.PI * pitch * time;
      const value = loudness * (Math.sin(turn) + 0.3 * Math.sin(2 * turn));
      file.writeInt16LE(Math.round(value * 32_767), 44 + sample * 2);
    }
    // A third of a second takes a millisecond; then others have their turn.
    await setImmediate();
    if (signal.aborted) throw signal.reason;
  }
  return file;
}

/** RIFF WAVE with linear samples. */
function header(samples: number): Buffer {
  const bytes = samples * 2;
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + bytes, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(RATE, 24);
  head.writeUInt32LE(RATE * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(bytes, 40);
  return head;
}
