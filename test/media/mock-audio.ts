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
export function refusal(param: string, message: string): Answer {
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
