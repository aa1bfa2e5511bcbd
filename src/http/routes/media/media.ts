import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../../../failure.ts';
import { imagesShape } from '../../../media/record.ts';
import { audioRequest } from '../../../media/requests/audio.ts';
import { imageRequest } from '../../../media/requests/image.ts';
import { moderationRequest } from '../../../media/requests/moderation.ts';
import { videoRequest } from '../../../media/requests/video.ts';
import type { MediaKind } from '../../../media/task/call.ts';
import { handsOver } from '../../../store/nodes.ts';
import { jsonOrEvents } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { shuttingDown } from '../../responses/errors.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { createdShape, moderationShape } from '../tasks/media-schema.ts';
import { sendImages, sendOpenAiImages } from './image-response.ts';
import { announceIgnored, sendCreated } from './media-response.ts';
import { fieldsOf, idempotencyKeyOf, submitJson } from './media-submission.ts';
import { defaultFormatOf, imageResponseFields, imageResponseOf } from './response-format.ts';
import { addSpeechRoute } from './speech.ts';

interface Endpoint {
  readonly path: string;
  readonly kind: MediaKind;
  readonly summary: string;
  readonly tag: string;
  readonly request: v.GenericSchema;
  /** A body that works with the sandbox's catalog; the console's page of the API fills it in. */
  readonly example: object;
}

const DRAWING = { model: 'sandbox-image', prompt: 'a lighthouse at dusk', size: '16:9' };

/** The body of a request for images that may choose their form in the response. */
const imageBody = v.pipe(
  v.strictObject({ ...imageRequest.entries, ...imageResponseFields }),
  v.examples([DRAWING]),
);

/** Endpoints that create a task and return it at once. */
const ENDPOINTS: readonly Endpoint[] = [
  {
    path: '/v1/videos/generations',
    kind: 'video',
    summary: 'Create a task that generates a video from a prompt',
    tag: 'Videos',
    request: videoRequest,
    example: { model: 'sandbox-video', prompt: 'waves on a beach' },
  },
  {
    path: '/v1/audio/generations',
    kind: 'audio',
    summary: 'Create a task that generates sound from a prompt',
    tag: 'Audio',
    request: audioRequest,
    example: { model: 'sandbox-audio', prompt: 'rain on a roof' },
  },
];

/** The media endpoints with JSON bodies. */
export function mediaRoutes(context: AppContext): FastifyPluginAsync {
  const { media } = context;
  return async (server) => {
    server.addHook('onRequest', async () => {
      if (context.draining.aborted && !handsOver(context.store)) throw shuttingDown();
    });

    for (const { path, kind, summary, tag, request: shape, example } of ENDPOINTS) {
      const body = v.pipe(shape, v.examples([example]));
      server.post(path, {
        schema: { summary, tags: [tag], body, response: { 202: createdShape } },
        handler: async (request, reply) => {
          const task = await submitJson(context, kind, request, fieldsOf(request));
          announceIgnored(reply, task, context.config);
          return sendCreated(reply, task);
        },
      });
    }

    server.post('/v1/images/generations', {
      schema: {
        summary: 'Create a task that generates images from a prompt',
        description:
          'With response_format or stream, the request waits for the images and returns them as OpenAI does; if ' +
          'that takes longer than the server waits, 504 `task_running` names the task.',
        tags: ['Images'],
        body: imageBody,
        response: { 200: jsonOrEvents(imagesShape), 202: createdShape },
      },
      handler: async (request, reply) => {
        const format = defaultFormatOf(request, context.config);
        const [response, fields] = imageResponseOf(fieldsOf(request), format);
        const signal = disconnectSignal(reply);
        const submitted = await submitJson(context, 'image', request, fields);
        announceIgnored(reply, submitted, context.config, response.ignored);
        if (response.format === null) return sendCreated(reply, submitted);
        const isRepeatable = idempotencyKeyOf(request) !== null;
        const awaited = { submitted, signal, isRepeatable };
        return sendOpenAiImages(context, request, reply, awaited, response);
      },
    });

    server.post('/v1/images/generations/sync', {
      schema: {
        summary: 'Generate images from a prompt, and wait for them',
        description: 'Returns 202 and the task if it takes longer than the server waits.',
        tags: ['Images'],
        body: imageBody,
        response: { 200: imagesShape, 202: createdShape },
      },
      handler: async (request, reply) => {
        const [response, fields] = imageResponseOf(fieldsOf(request));
        if (response.isStreamed) throw notStreamed();
        const signal = disconnectSignal(reply);
        const submitted = await submitJson(context, 'image', request, fields);
        announceIgnored(reply, submitted, context.config);
        return sendImages(context, reply, { submitted, signal }, response.format ?? 'url');
      },
    });

    addSpeechRoute(server, context);

    server.post('/v1/moderations', {
      schema: {
        summary: 'Classify texts and images by the content policy',
        tags: ['Moderation'],
        body: v.pipe(
          moderationRequest,
          v.examples([{ model: 'sandbox-moderation', input: 'a family at the beach' }]),
        ),
        response: { 200: moderationShape },
      },
      handler: async (request, reply) =>
        media.moderate({
          holder: request.holder,
          requestId: request.id,
          fields: fieldsOf(request),
          signal: disconnectSignal(reply),
        }),
    });
  };
}

function notStreamed(): Failure {
  return new Failure(
    'invalid_request',
    'stream: expected false, received true; POST /v1/images/generations streams',
    { param: 'stream' },
  );
}
