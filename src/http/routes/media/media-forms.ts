import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DEFAULT_LIMITS } from '../../../images/limits.ts';
import { assetUrl, imagesShape } from '../../../media/record.ts';
import { editRequest } from '../../../media/requests/image.ts';
import { fieldsOf } from '../../../schema/fields.ts';
import { handsOver } from '../../../store/nodes.ts';
import { jsonOrEvents, jsonSchemaOf, withSample } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { traceOf } from '../../request/request-span.ts';
import { readTags } from '../../request/tags.ts';
import { shuttingDown } from '../../responses/errors.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { checkFormHeaders, readForm, sentFiles, valuesOf } from '../../uploads/form.ts';
import type { FormShape } from '../../uploads/parts.ts';
import { createdShape, uploadShape } from '../tasks/media-schema.ts';
import { sendImages, sendOpenAiImages } from './image-response.ts';
import { announceIgnored, idempotencyKeyOf, sendCreated } from './media-response.ts';
import {
  defaultFormatOf,
  imageResponseOf,
  imageResponseSchema,
  prefersTask,
} from './response-format.ts';
import { addTranscriptionRoute } from './transcriptions.ts';

const { fileBytes } = DEFAULT_LIMITS;
const MEGABYTE = 1024 * 1024;

const FIELDS = [...fieldsOf(editRequest), ...fieldsOf(imageResponseSchema)];

const EDIT: FormShape = {
  files: [
    { name: 'image', min: 1, max: 16 },
    { name: 'mask', min: 0, max: 1 },
  ],
  fileBytes,
  // As for a batch.
  requestBytes: 100 * MEGABYTE,
  fields: FIELDS.map(({ name }) => name),
  // The longest prompt, each of its characters in four bytes.
  valueBytes: 128_000,
};

const UPLOAD: FormShape = {
  files: [{ name: 'file', min: 1, max: 1 }],
  fileBytes,
  // Boundaries and headers around the file need little.
  requestBytes: fileBytes + MEGABYTE,
  fields: [],
};

const binary = { type: 'string', format: 'binary' } as const;

/** The OpenAPI schema of an edit's form. */
function editBody() {
  const imageResponse = jsonSchemaOf(imageResponseSchema, 'input') as {
    properties: Record<string, object>;
  };
  const { properties, required } = jsonSchemaOf(editRequest, 'input') as {
    properties: Record<string, object>;
    required: readonly string[];
  };
  return {
    type: 'object',
    properties: {
      image: {
        type: 'array',
        items: binary,
        minItems: 1,
        maxItems: 16,
        description: 'The images to change, at most 30 MiB each and 100 MiB in all.',
      },
      ...withSample(
        {
          mask: {
            ...binary,
            description: 'Where to change them: a PNG of the size of the first image, with alpha.',
          },
          ...properties,
          ...imageResponse.properties,
        },
        { model: 'sandbox-image', prompt: 'make it night' },
      ),
    },
    required: ['image', ...required],
    additionalProperties: false,
  };
}

/** The media endpoints with forms: edits, uploads and transcriptions. */
export function mediaFormRoutes(server: FastifyInstance, context: AppContext): void {
  const { media, spool } = context;
  const admit = (shape: FormShape) => async (request: FastifyRequest) => {
    if (context.draining.aborted && !handsOver(context.store)) throw shuttingDown();
    checkFormHeaders(request, shape);
    spool.checkRoom(Number(request.headers['content-length'] ?? 0));
  };
  addEndpoint(server, {
    path: 'POST /v1/images/edits',
    tag: 'Images',
    summary: 'Change images by a prompt, and wait for the results',
    description:
      'If it takes longer than the server waits, returns 202 and the task, or with response_format or stream ' +
      '504 `task_running`. With the header `Prefer: respond-async`, returns 202 at once.',
    form: editBody(),
    answer: jsonOrEvents(imagesShape),
    accepted: createdShape,
    onRequest: admit(EDIT),
    handler: async (request, reply) => {
      const idempotencyKey = idempotencyKeyOf(request);
      const signal = disconnectSignal(reply);
      const uploads = spool.uploads();
      try {
        const form = await readForm(request, EDIT, uploads, signal);
        const defaultFormat = defaultFormatOf(request, context.config);
        const [response, fields] = imageResponseOf(valuesOf(form, FIELDS), defaultFormat);
        const submitted = await media.submit({
          kind: 'edit',
          fields,
          images: sentFiles(form, 'image', EDIT),
          mask: sentFiles(form, 'mask', EDIT)[0] ?? null,
          holder: request.holder,
          idempotencyKey,
          publicUrl: context.publicUrl,
          tags: readTags(request),
          ...traceOf(request, context),
        });
        request.task = submitted;
        // The task has its own copies: the spool gets its room back while the client waits.
        await uploads.discard();
        announceIgnored(reply, submitted, context.config, response.ignored);
        if (response.format === null && prefersTask(request)) return sendCreated(reply, submitted);
        const awaited = { submitted, signal, isRepeatable: idempotencyKey !== null };
        return response.format === null
          ? await sendImages(context, reply, awaited, 'url')
          : await sendOpenAiImages(context, request, reply, awaited, response);
      } finally {
        await uploads.discard();
      }
    },
  });

  addTranscriptionRoute(server, context, admit);

  addEndpoint(server, {
    path: 'POST /v1/images/upload',
    tag: 'Images',
    summary: 'Upload an image, to refer to it by its URL',
    description: 'PNG, JPEG, WebP, AVIF, GIF or TIFF, at most 30 MiB.',
    form: {
      type: 'object',
      properties: { file: binary },
      required: ['file'],
      additionalProperties: false,
    },
    answer: uploadShape,
    onRequest: admit(UPLOAD),
    handler: async (request, reply) => {
      const uploads = spool.uploads();
      try {
        const form = await readForm(request, UPLOAD, uploads, disconnectSignal(reply));
        const asset = await media.upload(request.holder, sentFiles(form, 'file', UPLOAD)[0]!);
        return { url: assetUrl(context.publicUrl, asset) };
      } finally {
        await uploads.discard();
      }
    },
  });
}
