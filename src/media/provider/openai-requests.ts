import { openAsBlob } from 'node:fs';
import { redactKeyInBody, redactKeyInJson } from '../../routing/redaction.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject, listOf, nonEmptyTextOf, objectOf } from '../../schema/untrusted.ts';
import { type FormField, formOf } from '../../upstream/form.ts';
import type { ImageTaskRequest } from '../task/task-request.ts';
import type {
  MediaJob,
  ModerationAnswer,
  ModerationInput,
  ProviderContext,
  Transcript,
  TranscriptionJob,
} from './provider.ts';
import {
  asBillable,
  invalidResponse,
  type Json,
  missingContent,
  type RequestBody,
  withProviderClient,
} from './provider-client.ts';

/** Bytes of a transcript: hours of speech with the time of every word. */
const MAX_TRANSCRIPT_BYTES = 16 * 1024 * 1024;

/** Transcripts that are text; `text` is taken from JSON, which every model has. */
const TEXT_FORMATS = ['srt', 'vtt'];

/** Transcribes audio in OpenAI's format, which Oriel's own endpoint speaks as well. The file is sent from disk. */
export function transcribe(job: TranscriptionJob, context: ProviderContext): Promise<Transcript> {
  return withProviderClient(context, async (client) => {
    const { format, translates } = job.request;
    const { bytes, headers } = await client.send({
      path: translates ? '/audio/translations' : '/audio/transcriptions',
      body: { form: await formFor(job, context.model) },
      maxBytes: MAX_TRANSCRIPT_BYTES,
      billable: true,
    });
    const text = redactKeyInBody(bytes.toString(), client.settings.apiKey);
    const json = tryParseJson(text);
    if (isObject(json) && isObject(json['error'])) throw client.failureOf(json);
    const isPage =
      /\b(html|json)\b/i.test(headers['content-type'] ?? '') || /^\s*<(!doctype|html)/i.test(text);
    if (TEXT_FORMATS.includes(format) && !isPage) return { text, ignored: [] };
    if (!TEXT_FORMATS.includes(format) && isObject(json) && typeof json['text'] === 'string') {
      return { json, ignored: [] };
    }
    throw asBillable(missingContent('transcript', text.slice(0, 1_000_000)));
  });
}

async function formFor({ file, request }: TranscriptionJob, model: string) {
  const { format, parameters } = request;
  const fields = Object.entries(parameters).flatMap(([name, value]): FormField[] =>
    Array.isArray(value)
      ? value.map((item): FormField => [`${name}[]`, item])
      : [[name, String(value)]],
  );
  const content = await openAsBlob(file.path, { type: file.mediaType });
  return formOf([
    ['model', model],
    ...fields,
    ['response_format', format === 'text' ? 'json' : format],
    ['file', { content, filename: file.filename }],
  ]);
}

/** Bytes of a moderation: 64 results, each with a dozen categories. */
const MAX_MODERATION_BYTES = 1024 * 1024;

type Result = ModerationAnswer['results'][number];

/** Sends a moderation request in OpenAI's format, which Oriel's own endpoint speaks as well. */
export function moderate(
  input: ModerationInput,
  context: ProviderContext,
): Promise<ModerationAnswer> {
  return withProviderClient(context, async (client) => {
    const { json } = await client.sendForJson({
      path: '/moderations',
      body: { json: { model: context.model, input } },
      maxBytes: MAX_MODERATION_BYTES,
    });
    if (isObject(json['error'])) throw client.failureOf(json);
    const redacted = objectOf(redactKeyInJson(json, client.settings.apiKey));
    return readAnswer(redacted, resultCount(input));
  });
}

/** Number of results: one for each text, or one for all parts of an input. */
function resultCount(input: ModerationInput): number {
  return Array.isArray(input) && typeof input[0] === 'string' ? input.length : 1;
}

function readAnswer(json: Json, count: number): ModerationAnswer {
  const id = nonEmptyTextOf(json['id']);
  const model = nonEmptyTextOf(json['model']);
  const results = listOf(json['results']).map(readResult);
  if (id === null || model === null || results.length !== count) {
    throw invalidResponse('no moderation that can be used');
  }
  return { id, model, results };
}

function readResult(value: unknown): Result {
  const result = objectOf(value);
  const { flagged } = result;
  const categories = valuesOf(result['categories'], false);
  const scores = valuesOf(result['category_scores'], 0);
  if (typeof flagged !== 'boolean' || categories === null || scores === null) {
    throw invalidResponse('a moderation without its categories');
  }
  return { ...result, flagged, categories, category_scores: scores };
}

/** The values of an object, all of one type. Providers send null for categories that a model ignores. */
function valuesOf<Value>(object: unknown, defaultValue: Value): Record<string, Value> | null {
  if (!isObject(object)) return null;
  const values = Object.entries(object).map(
    ([name, value]) => [name, value ?? defaultValue] as const,
  );
  // JSON.parse returns Infinity for numbers such as 1e999.
  return values.every(
    ([, value]) => typeof value === typeof defaultValue && Number.isFinite(Number(value)),
  )
    ? (Object.fromEntries(values) as Record<string, Value>)
    : null;
}

/** The path of a request for images. */
export function imagePathOf({
  edit,
  variation,
}: Pick<ImageTaskRequest, 'edit' | 'variation'>): string {
  if (variation) return '/images/variations';
  return edit ? '/images/edits' : '/images/generations';
}

/** The form of an edit or a variation, which has no prompt. @param imageField name of the field of each image */
export function editBody(
  { inputs, mask }: MediaJob<ImageTaskRequest>,
  parameters: Readonly<Record<string, string | number>>,
  imageField: string,
): RequestBody {
  return {
    form: formOf([
      ...Object.entries(parameters)
        .filter(([, value]) => value !== '')
        .map(([name, value]): FormField => [name, String(value)]),
      ...inputs.map((input): FormField => [imageField, input]),
      ...(mask === null ? [] : [['mask', mask] as const]),
    ]),
  };
}
