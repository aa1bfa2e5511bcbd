import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import { imagesShape } from '../../media/record.ts';
import { audioRequest } from '../../media/requests/audio.ts';
import type { MediaKind } from '../../media/requests/call.ts';
import { imageRequest } from '../../media/requests/image.ts';
import { moderationRequest } from '../../media/requests/moderation.ts';
import { videoRequest } from '../../media/requests/video.ts';
import { formatValue } from '../../schema/faults.ts';
import { isObject } from '../../schema/untrusted.ts';
import type { AppContext } from '../app-context.ts';
import { draining } from '../errors.ts';
import { disconnectSignal } from '../transport/client-disconnect.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { announceIgnored, sendCreated, sendImages, sendOpenAiImages } from './media-response.ts';
import { createdShape, moderationShape } from './media-schema.ts';
import { formatOf, responseFormatFields } from './response-format.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Endpoint {
  readonly path: string;
  readonly kind: MediaKind;
  readonly summary: string;
  readonly tag: string;
  readonly request: v.GenericSchema;
  /** A body that works with the sandbox's catalog; the page `/docs` fills it in. */
  readonly example: object;
}

const DRAWING = { model: 'sandbox-image', prompt: 'a lighthouse at dusk', size: '16:9' };

/** The body of a request for images that may choose their form in the response. */
const imageBody = v.pipe(
  v.strictObject({ ...imageRequest.entries, ...responseFormatFields }),
  v.examples([DRAWING]),
);

/** Endpoints that create a task and return it at once: interface part 4.11. */
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
  const submit = (kind: MediaKind, request: FastifyRequest, fields: Fields) =>
    media.submit({
      kind,
      fields,
      holder: request.holder,
      idempotencyKey: idempotencyKeyOf(request),
      publicUrl: context.publicUrl,
    });
  return async (server) => {
    server.addHook('onRequest', async () => {
      if (context.draining.aborted) throw draining();
    });

    for (const { path, kind, summary, tag, request: shape, example } of ENDPOINTS) {
      const body = v.pipe(shape, v.examples([example]));
      server.post(path, {
        schema: { summary, tags: [tag], body, response: { 202: createdShape } },
        handler: async (request, reply) =>
          sendCreated(reply, await submit(kind, request, fieldsOf(request))),
      });
    }

    server.post('/v1/images/generations', {
      schema: {
        summary: 'Create a task that generates images from a prompt',
        description:
          'With response_format, the request waits for the images and returns them as OpenAI does; if that takes ' +
          'longer than the server waits, 504 `task_running` names the task.',
        tags: ['Images'],
        body: imageBody,
        response: { 200: imagesShape, 202: createdShape },
      },
      handler: async (request, reply) => {
        const [format, fields] = formatOf(fieldsOf(request));
        const signal = disconnectSignal(reply);
        const task = await submit('image', request, fields);
        announceIgnored(reply, task, context.config);
        if (format === null) return sendCreated(reply, task);
        const isRepeatable = idempotencyKeyOf(request) !== null;
        return sendOpenAiImages(context, reply, { submitted: task, format, signal }, isRepeatable);
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
        const [format, fields] = formatOf(fieldsOf(request));
        const signal = disconnectSignal(reply);
        const task = await submit('image', request, fields);
        announceIgnored(reply, task, context.config);
        return sendImages(context, reply, { submitted: task, format: format ?? 'url', signal });
      },
    });

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
        media.moderate(
          { holder: request.holder, requestId: request.id },
          fieldsOf(request),
          disconnectSignal(reply),
        ),
    });
  };
}

/** @throws Failure invalid_request if the body is not an object */
function fieldsOf({ body }: FastifyRequest): Fields {
  if (isObject(body)) return body;
  const received = body === undefined ? 'nothing' : formatValue(body, []);
  throw new Failure('invalid_request', `the body: expected an object, received ${received}`);
}
