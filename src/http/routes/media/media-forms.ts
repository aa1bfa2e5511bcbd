import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import { DEFAULT_LIMITS } from '../../../images/limits.ts';
import { assetUrl, imagesShape } from '../../../media/record.ts';
import { unknownNames } from '../../../media/requests/fields.ts';
import { editRequest, variationRequest } from '../../../media/requests/image.ts';
import { fieldsOf } from '../../../schema/fields.ts';
import { BINARY, formSchemaOf, jsonOrEvents } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { traceOf } from '../../request/request-span.ts';
import { readTags } from '../../request/tags.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { admitForm, sentFiles, valuesOf, withForm } from '../../uploads/form.ts';
import type { FileField, FormShape } from '../../uploads/parts.ts';
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
import { addVideoForm } from './videos.ts';

const { fileBytes } = DEFAULT_LIMITS;
const MEGABYTE = 1024 * 1024;

type Schema = typeof editRequest | typeof variationRequest;

const formFieldsOf = (schema: Schema) => [...fieldsOf(schema), ...fieldsOf(imageResponseSchema)];

const EDIT: FormShape = {
  files: [
    { name: 'image', min: 1, max: 16 },
    { name: 'mask', min: 0, max: 1 },
  ],
  fileBytes,
  // As for a batch.
  requestBytes: 100 * MEGABYTE,
  fields: formFieldsOf(editRequest).map(({ name }) => name),
  // The longest prompt, each of its characters in four bytes.
  valueBytes: 128_000,
  keepsUnknown: true,
};

const VARIATION: FormShape = {
  ...EDIT,
  files: [{ name: 'image', min: 1, max: 1 }],
  requestBytes: fileBytes + MEGABYTE,
  fields: formFieldsOf(variationRequest).map(({ name }) => name),
};

const UPLOAD: FormShape = {
  files: [{ name: 'file', min: 1, max: 1 }],
  fileBytes,
  // Boundaries and headers around the file need little.
  requestBytes: fileBytes + MEGABYTE,
  fields: [],
};

const MASK = {
  ...BINARY,
  description: 'Where to change them: a PNG of the size of the first image, with alpha.',
};

/** The OpenAPI schema of the form of an edit or a variation. */
function imageFormOf(kind: 'edit' | 'variation', schema: Schema, { max }: FileField) {
  const image = {
    type: 'array',
    items: BINARY,
    minItems: 1,
    maxItems: max,
    description: 'The images to change, at most 30 MiB each and 100 MiB in all.',
  };
  const all = v.object({ ...schema.entries, ...imageResponseSchema.entries });
  const isEdit = kind === 'edit';
  const sample = { model: 'sandbox-image', ...(isEdit && { prompt: 'make it night' }) };
  return formSchemaOf(
    all,
    { image, ...(isEdit && { mask: MASK }) },
    { sample, required: ['image'] },
  );
}

/** The media endpoints with forms: edits, uploads and transcriptions. */
export function mediaFormRoutes(server: FastifyInstance, context: AppContext): void {
  const { media, spool } = context;
  const addImageForm = (kind: 'edit' | 'variation', summary: string) => {
    const schema = kind === 'edit' ? editRequest : variationRequest;
    const shape = kind === 'edit' ? EDIT : VARIATION;
    addEndpoint(server, {
      path: `POST /v1/images/${kind}s`,
      tag: 'Images',
      summary,
      description:
        'If it takes longer than the server waits, returns 202 and the task, or with response_format or stream ' +
        '504 `task_running`. With the header `Prefer: respond-async`, returns 202 at once.',
      form: () => imageFormOf(kind, schema, shape.files[0]!),
      answer: () => jsonOrEvents(imagesShape),
      accepted: createdShape,
      onRequest: admitForm(context, shape),
      handler: async (request, reply) => {
        const idempotencyKey = idempotencyKeyOf(request);
        const signal = disconnectSignal(reply);
        return withForm(request, shape, { spool, signal }, async (form, uploads) => {
          const defaultFormat = defaultFormatOf(request, context.config);
          const [response, fields] = imageResponseOf(
            valuesOf(form, formFieldsOf(schema)),
            defaultFormat,
          );
          const submitted = await media.submit({
            kind,
            fields,
            images: sentFiles(form, 'image', shape),
            mask: kind === 'edit' ? (sentFiles(form, 'mask', shape)[0] ?? null) : null,
            holder: request.holder,
            idempotencyKey,
            publicUrl: context.publicUrl,
            tags: readTags(request),
            ...traceOf(request, context),
          });
          request.task = submitted;
          // The task has its own copies: the spool gets its room back while the client waits.
          await uploads.discard();
          const ignored = [...response.ignored, ...unknownNames(schema, fields)];
          announceIgnored(reply, submitted, context.config, ignored);
          if (response.format === null && prefersTask(request))
            return sendCreated(reply, submitted);
          const awaited = { submitted, signal, isRepeatable: idempotencyKey !== null };
          return response.format === null
            ? await sendImages(context, reply, awaited, 'url')
            : await sendOpenAiImages(context, request, reply, awaited, response);
        });
      },
    });
  };
  addImageForm('edit', 'Change images by a prompt, and wait for the results');
  addImageForm('variation', 'Make variations of an image, as OpenAI does, and wait for them');

  addVideoForm(server, context);
  for (const translates of [false, true]) addTranscriptionRoute(server, context, translates);

  addEndpoint(server, {
    path: 'POST /v1/images/upload',
    tag: 'Images',
    summary: 'Upload an image, to refer to it by its URL',
    description: 'PNG, JPEG, WebP, AVIF, GIF or TIFF, at most 30 MiB.',
    form: {
      type: 'object',
      properties: { file: BINARY },
      required: ['file'],
      additionalProperties: false,
    },
    answer: uploadShape,
    onRequest: admitForm(context, UPLOAD),
    handler: async (request, reply) => {
      const signal = disconnectSignal(reply);
      return withForm(request, UPLOAD, { spool, signal }, async (form) => {
        const asset = await media.upload(request.holder, sentFiles(form, 'file', UPLOAD)[0]!);
        return { url: assetUrl(context.publicUrl, asset) };
      });
    },
  });
}
