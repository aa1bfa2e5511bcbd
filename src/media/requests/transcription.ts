import { open } from 'node:fs/promises';
import * as v from 'valibot';
import { integer, nullish, number } from '../../schema/fields.ts';
import { invalid } from '../../schema/invalid.ts';
import { describeBytes, HEAD_BYTES, sniffMedia } from '../files/media-type.ts';
import {
  type AudioFile,
  TRANSCRIPT_FORMATS,
  type TranscriptionRequest,
} from '../provider/provider.ts';
import type { SentFile } from '../task/call.ts';
import { checkFields, type Fields, model, shortText, textUpTo, wellFormed } from './fields.ts';

/** Items of one list, and characters of one item. */
export const MAX_ITEMS = 100;
const MAX_ITEM_LENGTH = 256;

/** Characters of a prompt; models read 224 tokens of it. */
const MAX_HINT_LENGTH = 4096;

const texts = (description: string) =>
  nullish(v.pipe(v.array(textUpTo(MAX_ITEM_LENGTH)), v.maxLength(MAX_ITEMS)), description, {
    expects: `at most ${MAX_ITEMS} texts of at most ${MAX_ITEM_LENGTH} characters`,
  });

const oneOf = <const Options extends readonly string[]>(options: Options, description: string) =>
  nullish(v.array(v.picklist(options)), description, {
    expects: `one or more of ${options.join(', ')}`,
  });

/** The lists of a transcription's form; their names may end in `[]`. */
const lists = {
  timestamp_granularities: oneOf(['word', 'segment'], 'what has times in verbose_json'),
  include: oneOf(['logprobs'], 'what else the JSON has'),
  languages: texts('languages that the audio may have, for models that support a list'),
  keywords: texts('words to expect, for models that support them'),
};

/** The fields of POST /v1/audio/transcriptions, as at OpenAI, other than its file. */
export const transcriptionRequest = v.object({
  model,
  language: shortText('language of the audio, such as en'),
  prompt: nullish(textUpTo(MAX_HINT_LENGTH), 'text that the audio continues, or its style'),
  response_format: nullish(
    v.picklist(TRANSCRIPT_FORMATS),
    'form of the transcript; json by default',
  ),
  temperature: nullish(number(0, 1), 'sampling temperature'),
  stream: nullish(v.boolean(), "whether the text comes as OpenAI's server-sent events"),
  chunking_strategy: nullish(v.literal('auto'), 'how long audio is divided: auto'),
  'chunking_strategy[type]': nullish(
    v.literal('server_vad'),
    'how long audio is divided: at silences',
  ),
  'chunking_strategy[prefix_padding_ms]': nullish(integer(0), 'milliseconds before speech'),
  'chunking_strategy[silence_duration_ms]': nullish(integer(0), 'milliseconds that end it'),
  'chunking_strategy[threshold]': nullish(number(0, 1), 'loudness that is speech'),
  ...lists,
});

/** The fields of POST /v1/audio/translations, which are fewer. */
export const translationRequest = v.pick(transcriptionRequest, [
  'model',
  'prompt',
  'response_format',
  'temperature',
]);

export const LIST_NAMES = Object.keys(lists) as readonly (keyof typeof lists)[];

/** Fields that change nothing for the provider: the response is made from what it answers. */
const RESPONSE_ONLY = ['model', 'stream', 'response_format'];

/** @throws Failure invalid_request that names the field */
export function readTranscriptionRequest(
  fields: Fields,
  translates: boolean,
): TranscriptionRequest {
  const known = translates ? checkFields(translationRequest, fields) : fields;
  const body = checkFields(transcriptionRequest, known);
  const { response_format: format = 'json', timestamp_granularities: granularities } = body;
  const needsFormat = (param: string, expected: string) =>
    invalid(
      param,
      `expected response_format ${expected} with it, received ${format}`,
      'conflicting_parameters',
    );
  if (granularities && format !== 'verbose_json') {
    throw needsFormat('timestamp_granularities', 'verbose_json');
  }
  if (body.include && format !== 'json') throw needsFormat('include', 'json');
  if (body.stream && format !== 'json' && format !== 'text')
    throw needsFormat('stream', 'json or text');
  const parameters = Object.entries(body).filter(([name]) => !RESPONSE_ONLY.includes(name));
  return {
    ...(translates && { translates }),
    format: format ?? 'json',
    parameters: Object.fromEntries(
      parameters.map(([name, value]) => [
        name,
        typeof value === 'string' ? wellFormed(value) : value,
      ]),
    ) as TranscriptionRequest['parameters'],
  };
}

/** Names and media types that OpenAI accepts, where they differ from those that the content says. */
const NAMES: Readonly<Record<string, string>> = { opus: 'ogg' };

/**
 * Recognises audio by its content. Its name is made from that: providers tell formats by the name, and
 * clients send any.
 *
 * @throws Failure invalid_request naming the param `file`
 */
export async function readAudioFile({ path, size }: SentFile): Promise<AudioFile> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    const head = buffer.subarray(0, bytesRead);
    const media = sniffMedia(head);
    if (media === null || media.kind === 'image') {
      throw invalid(
        'file',
        `expected FLAC, MP3, MP4, M4A, OGG, WAV or WebM audio, received a file that is ${describeBytes(head)}`,
        size === 0 ? 'empty_file' : 'unsupported_format',
      );
    }
    const extension = NAMES[media.extension] ?? media.extension;
    const mediaType = media.mediaType.replace('video/', 'audio/');
    return { path, size, mediaType, filename: `audio.${extension}` };
  } finally {
    await file.close();
  }
}
