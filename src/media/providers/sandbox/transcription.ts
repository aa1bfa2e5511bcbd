import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Failure } from '../../../failure.ts';
import { SeededRandom } from '../../../operations/sandbox/seeded-random.ts';
import { invalid } from '../../../schema/invalid.ts';
import type {
  AudioFile,
  ProviderContext,
  Transcript,
  TranscriptionJob,
} from '../../provider/provider.ts';
import { applyDirectives, expectModel } from './directives.ts';
import { describeWav, type WavDescription } from './wav.ts';

/** Bytes in a second of audio whose duration is not known. */
const BYTES_PER_SECOND = 16_000;

/** Words of a text that is made up. */
const WORDS = ['waves', 'on', 'a', 'quiet', 'beach', 'below', 'the', 'old', 'lighthouse'] as const;

const WORDS_PER_SEGMENT = 8;

/** Parameters that change nothing here. */
const IGNORED = /^(temperature|languages|keywords|chunking_strategy.*)$/;

interface TranscriptSegment {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Transcribes WAV files of the sandbox to the text that they were made from. For other audio the text is
 * made up from its content, always the same.
 */
export async function transcribe(
  { request, file }: TranscriptionJob,
  context: ProviderContext,
): Promise<Transcript> {
  expectModel(context, 'transcription');
  const { format, parameters, translates } = request;
  await applyDirectives(parameters.prompt ?? '', 'prompt', context.signal);
  if (format === 'diarized_json') throw unsupported('response_format');
  if (parameters.include) throw unsupported('include');
  const wav = await wavOf(file);
  const text = wav.comment ?? (await madeUpText(file));
  const duration = wav.seconds ?? file.size / BYTES_PER_SECOND;
  const ignored = Object.keys(parameters).filter((name) => IGNORED.test(name));
  const words = timed(text.split(/\s+/).filter(Boolean), duration);
  const segments = segmentsOf(words);
  if (format === 'srt') return { text: subtitles(segments, '', ','), ignored };
  if (format === 'vtt') return { text: subtitles(segments, 'WEBVTT\n\n', '.'), ignored };
  const usage = { type: 'duration', seconds: Math.ceil(duration) };
  if (format !== 'verbose_json') return { json: { text, usage }, ignored };
  const granularities = parameters.timestamp_granularities ?? ['segment'];
  return {
    json: {
      task: translates ? 'translate' : 'transcribe',
      language: parameters.language ?? 'english',
      duration,
      text,
      ...(granularities.includes('word') && {
        words: words.map(({ text: word, start, end }) => ({ word, start, end })),
      }),
      ...(granularities.includes('segment') && { segments: segments.map(verboseSegment) }),
      usage,
    },
    ignored,
  };
}

function unsupported(param: string): Failure {
  return invalid(param, 'the sandbox does not support this value', 'not_supported_by_model');
}

async function wavOf({ path, mediaType }: AudioFile): Promise<WavDescription> {
  if (mediaType !== 'audio/wav') return { seconds: null, comment: null };
  const file = await open(path);
  try {
    return await describeWav(file);
  } finally {
    await file.close();
  }
}

async function madeUpText({ path }: AudioFile): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  const random = new SeededRandom(hash.digest('hex'));
  const words = Array.from({ length: 12 }, () => random.of(WORDS));
  return `The sandbox heard ${words.join(' ')}.`;
}

/** Texts one after another, each as long as its letters. */
function timed(texts: readonly string[], duration: number): readonly TranscriptSegment[] {
  const letters = texts.reduce((sum, text) => sum + text.length, 0);
  let passed = 0;
  const now = () => Math.round((duration * 1000 * passed) / letters) / 1000;
  return texts.map((text) => {
    const start = now();
    passed += text.length;
    return { text, start, end: now() };
  });
}

function segmentsOf(words: readonly TranscriptSegment[]): readonly TranscriptSegment[] {
  const segments: TranscriptSegment[] = [];
  for (let at = 0; at < words.length; at += WORDS_PER_SEGMENT) {
    const part = words.slice(at, at + WORDS_PER_SEGMENT);
    const text = part.map((word) => word.text).join(' ');
    segments.push({ text, start: part[0]!.start, end: part.at(-1)!.end });
  }
  return segments;
}

function verboseSegment({ text, start, end }: TranscriptSegment, id: number) {
  const measures = { temperature: 0, avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 };
  return { id, seek: 0, start, end, text, tokens: [], ...measures };
}

/** SubRip, or WebVTT with its header. @param point before the milliseconds */
function subtitles(segments: readonly TranscriptSegment[], header: string, point: string): string {
  const time = (seconds: number) =>
    new Date(Math.round(seconds * 1000)).toISOString().slice(11, 23).replace('.', point);
  const cues = segments.map(({ text, start, end }, index) => {
    const number = header === '' ? `${index + 1}\n` : '';
    return `${number}${time(start)} --> ${time(end)}\n${text}\n\n`;
  });
  return header + cues.join('');
}
