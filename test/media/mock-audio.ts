import { sniffMedia } from '../../src/media/files/media-type.ts';
import { speech } from './media-files.ts';
import type { Answer, Received } from './mock-request.ts';

const SPEECH_FIELDS = [
  'model',
  'input',
  'voice',
  'instructions',
  'response_format',
  'speed',
  'stream_format',
];

const VOICES = ['alloy', 'ash', 'ballad', 'coral', 'echo', 'fable', 'nova', 'onyx', 'sage'];

/** An error as OpenAI answers it. */
function refusal(param: string, message: string): Answer {
  const error = { message, type: 'invalid_request_error', param, code: 'invalid_value' };
  return { status: 400, body: { error } };
}

/** OpenAI's speech, which is as strict as its document: known fields, a known voice, a text and a range of speed. */
export function spoken({ json }: Received): Answer {
  const fields = json as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(fields).find((name) => !SPEECH_FIELDS.includes(name));
  if (unknown !== undefined) return refusal(unknown, `Unknown parameter: '${unknown}'.`);
  const { input, voice, speed = 1, response_format: format = 'mp3' } = fields;
  if (typeof input !== 'string' || input === '') return refusal('input', 'Missing text.');
  const isOwn = typeof (voice as { id?: unknown } | null)?.id === 'string';
  if (!isOwn && !VOICES.includes(String(voice))) return refusal('voice', `Unknown voice: ${voice}`);
  if (Number(speed) < 0.25 || Number(speed) > 4) return refusal('speed', 'Out of range.');
  const { type, bytes } = speech(String(format));
  return { type, body: bytes };
}

const TRANSCRIPTION_FIELDS =
  /^(model|file|language|prompt|response_format|temperature|chunking_strategy(\[\w+\])?|(timestamp_granularities|include|languages|keywords)\[\])$/;

export const TRANSCRIPT = {
  text: 'Waves on a beach.',
  usage: { type: 'duration', seconds: 3 },
} as const;

export const VERBOSE = {
  task: 'transcribe',
  language: 'english',
  duration: 2.5,
  ...TRANSCRIPT,
  words: [{ word: 'Waves', start: 0, end: 0.5 }],
} as const;

export const SRT = '1\n00:00:00,000 --> 00:00:02,500\nWaves on a beach.\n\n';
export const VTT = 'WEBVTT\n\n00:00.000 --> 00:02.500\nWaves on a beach.\n\n';

/** OpenAI's transcriptions: known fields, and a file whose name and type agree with its content. */
export function transcribed({ parts }: Received): Answer {
  const unknown = parts.find(({ name }) => !TRANSCRIPTION_FIELDS.test(name));
  if (unknown) return refusal(unknown.name, `Unknown parameter: '${unknown.name}'.`);
  const textOf = (wanted: string) => parts.find(({ name }) => name === wanted)?.value;
  const [file, ...more] = parts.filter(({ name }) => name === 'file');
  const known = file && sniffMedia(file.bytes);
  const extension = file?.filename?.split('.').at(-1);
  const isNamed = /^(flac|mp3|mp4|mpeg|mpga|m4a|ogg|wav|webm)$/.test(extension ?? '');
  if (!known || !isNamed || more.length > 0 || !file.type?.startsWith('audio/')) {
    return refusal('file', 'Invalid file format.');
  }
  const format = textOf('response_format') ?? 'json';
  if (format !== 'verbose_json' && textOf('timestamp_granularities[]')) {
    return refusal('timestamp_granularities', 'Needs verbose_json.');
  }
  if (format === 'srt') return { type: 'text/plain; charset=utf-8', body: SRT };
  if (format === 'vtt') return { type: 'text/vtt; charset=utf-8', body: VTT };
  if (format === 'text') return { type: 'text/plain', body: `${TRANSCRIPT.text}\n` };
  return { body: format === 'verbose_json' ? VERBOSE : TRANSCRIPT };
}
