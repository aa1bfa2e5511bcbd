import type { FastifyInstance, FastifyReply } from 'fastify';
import * as v from 'valibot';
import { SPEECH_NAMES, speechRequest } from '../../../media/requests/audio.ts';
import { checkFields, type Fields, unknownNames } from '../../../media/requests/fields.ts';
import { nullish } from '../../../schema/fields.ts';
import { BINARY, EVENT_STREAM } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { eventOf, sendEvents } from '../../transport/sse-response.ts';
import { bodyOf } from '../tasks/assets.ts';
import { NO_USAGE } from './image-response.ts';
import {
  type AwaitedTask,
  announceTask,
  fieldsOf,
  resultFiles,
  submitMedia,
  waitForResult,
} from './media-response.ts';

const responseFields = {
  stream_format: nullish(
    v.picklist(['audio', 'sse']),
    "audio for the bytes of the file, sse for OpenAI's server-sent events once it is made",
  ),
};
const responseSchema = v.object(responseFields);

const body = v.pipe(
  v.object({ ...speechRequest.entries, ...responseFields }),
  v.examples([{ model: 'sandbox-audio', input: 'Hello from the sandbox.', voice: 'alloy' }]),
);

const AUDIO_TYPES = ['aac', 'flac', 'mp4', 'mpeg', 'ogg', 'pcm', 'wav', 'webm'];
const binary = { schema: BINARY };

const AUDIO = {
  description: 'The audio',
  content: {
    ...Object.fromEntries(AUDIO_TYPES.map((type) => [`audio/${type}`, binary])),
    ...EVENT_STREAM,
  },
};

/** Speech in OpenAI's shape, over audio tasks. */
export function addSpeechRoute(server: FastifyInstance, context: AppContext): void {
  addEndpoint(server, {
    path: 'POST /v1/audio/speech',
    tag: 'Audio',
    summary: 'Create speech from a text, as OpenAI does',
    description:
      'Creates an audio task, waits for it and returns the bytes of its file; if that takes longer than the ' +
      'server waits, 504 `task_running` names the task.',
    body,
    answer: AUDIO,
    handler: async (request, reply) => {
      const [isStreamed, fields] = streamFormatOf(fieldsOf(request));
      const signal = disconnectSignal(reply);
      const ignored = unknownNames(speechRequest, fields);
      const asked = { kind: 'speech', fields, ignored, fieldNames: SPEECH_NAMES } as const;
      const awaited = { submitted: await submitMedia(context, request, reply, asked), signal };
      announceTask(reply, awaited);
      if (isStreamed) return sendEvents(request, reply, speechEvents(context, reply, awaited));
      const result = await waitForResult(context, reply, awaited);
      const [file] = await resultFiles(result, context);
      const bytes = await bodyOf(file!, context.assets, { signal });
      return reply.type(file!.mediaType).header('content-length', file!.bytes).send(bytes);
    },
  });
}

/** Separates how the client wants the audio from the parameters for the model. @throws Failure */
function streamFormatOf({ stream_format: given = null, ...fields }: Fields) {
  const { stream_format: format } = checkFields(responseSchema, { stream_format: given });
  return [format === 'sse', fields] as const;
}

/** The events of a task's audio as OpenAI's streams have them. */
async function* speechEvents(
  context: AppContext,
  reply: FastifyReply,
  awaited: AwaitedTask,
): AsyncGenerator<string> {
  const result = await waitForResult(context, reply, awaited);
  const [file] = await resultFiles(result, context);
  for await (const chunk of context.assets.chunks(file!, { signal: awaited.signal })) {
    yield eventOf({ type: 'speech.audio.delta', audio: chunk.toString('base64') });
  }
  yield eventOf({ type: 'speech.audio.done', usage: result.usage ?? NO_USAGE });
}
