import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { imagesShape } from '../../../media/record.ts';
import { audioRequest } from '../../../media/requests/audio.ts';
import { type RequestSchema, unknownNames } from '../../../media/requests/fields.ts';
import { imageRequest } from '../../../media/requests/image.ts';
import { moderationRequest } from '../../../media/requests/moderation.ts';
import { videoRequest } from '../../../media/requests/video.ts';
import type { MediaKind } from '../../../media/task/call.ts';
import { invalid } from '../../../schema/invalid.ts';
import { handsOver } from '../../../store/nodes.ts';
import { jsonOrEvents } from '../../openapi/openapi.ts';
import { showCredits, whileAdmitted } from '../../request/admission.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { readTags } from '../../request/tags.ts';
import { shuttingDown } from '../../responses/errors.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { createdShape, moderationShape } from '../tasks/media-schema.ts';
import { sendImages, sendOpenAiImages } from './image-response.ts';
import { fieldsOf, nameIgnored, sendCreated, submitMedia } from './media-response.ts';
import { defaultFormatOf, imageResponseFields, imageResponseOf } from './response-format.ts';
import { addSpeechRoute } from './speech.ts';

const DRAWING = { model: 'sandbox-image', prompt: 'a lighthouse at dusk', size: '16:9' };

/** The body of a request for images that may choose their form in the response. */
const imageBody = v.pipe(
  v.object({ ...imageRequest.entries, ...imageResponseFields }),
  v.examples([DRAWING]),
);

/** The media endpoints with JSON bodies. */
export function mediaRoutes(server: FastifyInstance, context: AppContext): void {
  const { media } = context;
  server.addHook('onRequest', async () => {
    if (context.draining.aborted && !handsOver(context.store)) throw shuttingDown();
  });

  /** Adds an endpoint that creates a task and returns it at once. */
  const addTaskEndpoint = (
    kind: MediaKind,
    path: `POST ${string}`,
    described: { readonly tag: string; readonly summary: string; readonly body: RequestSchema },
  ) =>
    addEndpoint(server, {
      ...described,
      path,
      accepted: createdShape,
      handler: async (request, reply) => {
        const fields = fieldsOf(request);
        const ignored = unknownNames(described.body, fields);
        return sendCreated(
          reply,
          await submitMedia(context, request, reply, { kind, fields, ignored }),
        );
      },
    });

  addTaskEndpoint('video', 'POST /v1/videos/generations', {
    tag: 'Videos',
    summary: 'Create a task that generates a video from a prompt',
    body: v.pipe(
      videoRequest,
      v.examples([{ model: 'sandbox-video', prompt: 'waves on a beach' }]),
    ),
  });

  addTaskEndpoint('audio', 'POST /v1/audio/generations', {
    tag: 'Audio',
    summary: 'Create a task that generates sound from a prompt',
    body: v.pipe(audioRequest, v.examples([{ model: 'sandbox-audio', prompt: 'rain on a roof' }])),
  });

  addEndpoint(server, {
    path: 'POST /v1/images/generations',
    tag: 'Images',
    summary: 'Create a task that generates images from a prompt',
    description:
      'With response_format or stream, the request waits for the images and returns them as OpenAI does; if ' +
      'that takes longer than the server waits, 504 `task_running` names the task.',
    body: imageBody,
    answer: () => jsonOrEvents(imagesShape),
    accepted: createdShape,
    handler: async (request, reply) => {
      const format = defaultFormatOf(request, context.config);
      const [response, fields] = imageResponseOf(fieldsOf(request), format);
      const signal = disconnectSignal(reply);
      const ignored = [...response.ignored, ...unknownNames(imageRequest, fields)];
      const asked = { kind: 'image', fields, ignored } as const;
      const submitted = await submitMedia(context, request, reply, asked);
      if (response.format === null) return sendCreated(reply, submitted);
      return sendOpenAiImages(context, request, reply, { submitted, signal }, response);
    },
  });

  addEndpoint(server, {
    path: 'POST /v1/images/generations/sync',
    tag: 'Images',
    summary: 'Generate images from a prompt, and wait for them',
    description: 'Returns 202 and the task if it takes longer than the server waits.',
    body: imageBody,
    answer: imagesShape,
    accepted: createdShape,
    handler: async (request, reply) => {
      const [response, fields] = imageResponseOf(fieldsOf(request));
      if (response.isStreamed) {
        const why = 'expected false, received true; POST /v1/images/generations streams';
        throw invalid('stream', why);
      }
      const signal = disconnectSignal(reply);
      const asked = { kind: 'image', fields, ignored: unknownNames(imageRequest, fields) } as const;
      const submitted = await submitMedia(context, request, reply, asked);
      return sendImages(context, reply, { submitted, signal }, response.format ?? 'url');
    },
  });

  addSpeechRoute(server, context);

  addEndpoint(server, {
    path: 'POST /v1/moderations',
    tag: 'Moderation',
    summary: 'Classify texts and images by the content policy',
    body: v.pipe(
      moderationRequest,
      v.examples([{ model: 'sandbox-moderation', input: 'a family at the beach' }]),
    ),
    answer: moderationShape,
    handler: async (request, reply) => {
      const { holder, id: requestId } = request;
      const signal = disconnectSignal(reply);
      const fields = fieldsOf(request);
      const call = {
        ...{ holder, requestId, fields, tags: readTags(request), signal },
        onCharged: (charge: number) => showCredits(reply, charge),
      };
      nameIgnored(reply, unknownNames(moderationRequest, fields));
      const admitted = [request, reply, context] as const;
      return reply.send(await whileAdmitted(admitted, () => media.moderate(call)));
    },
  });
}
