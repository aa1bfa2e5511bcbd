import { openAsBlob } from 'node:fs';
import { redactKeyInBody } from '../../routing/redaction.ts';
import { tryParseJson } from '../../schema/json.ts';
import { isObject } from '../../schema/untrusted.ts';
import { type FormField, formOf } from '../../upstream/form.ts';
import type { ProviderContext, Transcript, TranscriptionJob } from './provider.ts';
import { asBillable, type Json, missingContent, withProviderClient } from './provider-client.ts';

/** Bytes of a response: hours of speech with the time of every word. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** Transcripts that are text; `text` is taken from JSON, which every model has. */
const TEXT_FORMATS = ['srt', 'vtt'];

/** Transcribes audio in OpenAI's format, which Oriel's own endpoint speaks as well. The file is sent from disk. */
export function transcribe(job: TranscriptionJob, context: ProviderContext): Promise<Transcript> {
  return withProviderClient(context, async (client) => {
    const { format } = job.request;
    const { bytes, headers } = await client.send({
      path: '/audio/transcriptions',
      body: { form: await formFor(job, context.model) },
      maxBytes: MAX_RESPONSE_BYTES,
      billable: true,
    });
    const text = redactKeyInBody(bytes.toString(), client.settings.apiKey);
    const json = tryParseJson(text);
    if (isObject(json) && isObject(json['error'])) throw client.failureOf(null, json);
    if (TEXT_FORMATS.includes(format)) return textIn(text, headers['content-type'] ?? '');
    return { json: jsonIn(json, text), ignored: [] };
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

function jsonIn(json: unknown, text: string): Json {
  if (!isObject(json) || typeof json['text'] !== 'string') {
    throw asBillable(missingContent('transcript', text.slice(0, 1_000_000)));
  }
  return json;
}

function textIn(text: string, type: string): Transcript {
  if (/\b(html|json)\b/i.test(type) || /^\s*<(!doctype|html)/i.test(text)) {
    throw asBillable(missingContent('transcript', text.slice(0, 1_000_000)));
  }
  return { text, ignored: [] };
}
