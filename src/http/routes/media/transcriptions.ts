import type { FastifyInstance, FastifyReply } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../../../failure.ts';
import { DEFAULT_LIMITS } from '../../../images/limits.ts';
import type { Transcript, TranscriptFormat } from '../../../media/provider/provider.ts';
import { unknownNames } from '../../../media/requests/fields.ts';
import {
  LIST_NAMES,
  MAX_ITEMS,
  transcriptionRequest,
  translationRequest,
} from '../../../media/requests/transcription.ts';
import { fieldsOf } from '../../../schema/fields.ts';
import { BINARY, EVENT_STREAM, formSchemaOf, jsonSchemaOf } from '../../openapi/openapi.ts';
import { showCredits, whileAdmitted } from '../../request/admission.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { readTags } from '../../request/tags.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { eventOf, sendEvents } from '../../transport/sse-response.ts';
import { admitForm, type Form, sentFiles, valuesOf, withForm } from '../../uploads/form.ts';
import type { FormShape } from '../../uploads/parts.ts';
import { nameIgnored } from './media-response.ts';

const { fileBytes } = DEFAULT_LIMITS;

const listNames: readonly string[] = LIST_NAMES;

type Schema = typeof transcriptionRequest | typeof translationRequest;

function formShapeOf(schema: Schema): FormShape {
  const names = fieldsOf(schema).map(({ name }) => name);
  return {
    files: [{ name: 'file', min: 1, max: 1 }],
    fileBytes,
    // Boundaries, headers and fields beside the file.
    requestBytes: fileBytes + 1024 * 1024,
    fields: names.filter((name) => !listNames.includes(name)),
    lists: { names: names.filter((name) => listNames.includes(name)), maxItems: MAX_ITEMS },
    // The longest prompt, each of its characters in four bytes.
    valueBytes: 16_384,
    keepsUnknown: true,
  };
}

const transcriptShape = v.looseObject({ text: v.string() });

/** What the console's page of the API fills in; it cannot show a list with a text in its place. */
const SAMPLE = {
  model: 'sandbox-transcription',
  ...Object.fromEntries(listNames.map((name) => [name, []])),
};

const FILE = { ...BINARY, description: 'FLAC, MP3, MP4, M4A, OGG, WAV or WebM, at most 30 MiB.' };

const TRANSCRIPT = {
  description: 'The transcript',
  content: {
    'application/json': { schema: jsonSchemaOf(transcriptShape, 'output') },
    'text/plain': { schema: { type: 'string' } },
    'text/vtt': { schema: { type: 'string' } },
    ...EVENT_STREAM,
  },
};

/** Transcriptions and translations in OpenAI's shape. */
export function addTranscriptionRoute(
  server: FastifyInstance,
  context: AppContext,
  translates: boolean,
): void {
  const schema = translates ? translationRequest : transcriptionRequest;
  const { media, spool } = context;
  const shape = formShapeOf(schema);
  const fields = fieldsOf(schema);
  addEndpoint(server, {
    path: `POST /v1/audio/${translates ? 'translations' : 'transcriptions'}`,
    tag: 'Audio',
    summary: `Transcribe audio${translates ? ' into English' : ''}, as OpenAI does`,
    form: () => formSchemaOf(schema, { file: FILE }, { sample: SAMPLE, required: ['file'] }),
    answer: TRANSCRIPT,
    onRequest: admitForm(context, shape),
    handler: async (request, reply) => {
      const signal = disconnectSignal(reply);
      const { holder, id: requestId } = request;
      const tags = readTags(request);
      const transcribe = async (form: Form) => {
        const values = valuesOf(form, fields);
        const [file] = sentFiles(form, 'file', shape);
        const answer = async () => {
          const call = {
            ...{ holder, requestId, fields: values, file: file!, translates, tags, signal },
            onCharged: (charge: number) => showCredits(reply, charge),
          };
          const admitted = [request, reply, context] as const;
          const transcript = await whileAdmitted(admitted, () => media.transcribe(call));
          nameIgnored(reply, [...transcript.ignored, ...unknownNames(schema, values)]);
          return transcript;
        };
        if (values['stream'] === true) {
          return await sendEvents(request, reply, transcriptEvents(answer));
        }
        const format = (values['response_format'] ?? 'json') as TranscriptFormat;
        return sendTranscript(reply, await answer(), format);
      };
      return withForm(request, shape, { spool, signal }, transcribe).catch((error: unknown) => {
        // OpenAI's SDKs repeat requests after 5xx, and each repetition would be charged again.
        const isCharged = error instanceof Failure && error.type === 'billable_error';
        if (isCharged) reply.header('x-should-retry', 'false');
        throw error;
      });
    },
  });
}

function sendTranscript(
  reply: FastifyReply,
  transcript: Transcript,
  format: TranscriptFormat,
): FastifyReply {
  if ('json' in transcript && format !== 'text') return reply.send(transcript.json);
  const text = 'text' in transcript ? transcript.text : `${String(transcript.json['text'])}\n`;
  const type = format === 'vtt' ? 'text/vtt' : 'text/plain';
  return reply.type(`${type}; charset=utf-8`).serializer(String).send(text);
}

/** The events of OpenAI's streams, once the transcript is there. */
async function* transcriptEvents(answer: () => Promise<Transcript>): AsyncGenerator<string> {
  const transcript = await answer();
  const { text, usage, logprobs } =
    'json' in transcript ? transcript.json : { text: transcript.text };
  yield eventOf({ type: 'transcript.text.delta', delta: text });
  yield eventOf({ type: 'transcript.text.done', text, usage, logprobs });
}
