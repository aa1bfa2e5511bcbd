import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as v from 'valibot';
import { DEFAULT_LIMITS } from '../../../images/limits.ts';
import { assetUrl, imagesShape } from '../../../media/record.ts';
import { type Fields, unknownNames } from '../../../media/requests/fields.ts';
import { editReferences, editRequest, variationRequest } from '../../../media/requests/image.ts';
import type { MediaCall } from '../../../media/task/call.ts';
import { checkedBody } from '../../../schema/body.ts';
import { fieldsOf } from '../../../schema/fields.ts';
import { BINARY, formSchemaOf, jsonOrEvents } from '../../openapi/openapi.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { disconnectSignal } from '../../transport/client-disconnect.ts';
import { admitForm, sentFiles, valuesOf, withForm } from '../../uploads/form.ts';
import type { FileField, FormShape } from '../../uploads/parts.ts';
import { createdShape, uploadShape } from '../tasks/media-schema.ts';
import { sendImages, sendOpenAiImages } from './image-response.ts';
import { fieldsOf as jsonFieldsOf, sendCreated, submitMedia } from './media-response.ts';
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

type SentImages = Pick<MediaCall, 'images' | 'mask'>;

/** The fields of an edit in JSON, and its images by URL. Files of the account are in memory until `release`. */
async function readReferences(request: FastifyRequest, { files, config }: AppContext) {
  const { images, mask, ...values } = checkedBody(editReferences, jsonFieldsOf(request));
  const given = images.map((one, index) => [one, `images[${index}]`] as const);
  const all = mask ? [...given, [mask, 'mask'] as const] : given;
  const ids = all.flatMap(([{ file_id: id }, param]) => (id ? [[id, `${param}.file_id`]] : []));
  const { id: accountId } = request.holder.account;
  const named = new Map(ids as [string, string][]);
  const { contents, release } = await files.open(accountId, named, config.server.bodyLimit);
  const sent = all.map(([{ image_url: url, file_id: id = '' }, param]) => ({
    url: url ?? `data:image/*;base64,${contents.get(id)!.data}`,
    param: `${param}.${url === undefined ? 'file_id' : 'image_url'}`,
  }));
  return { values, images: sent.slice(0, images.length), mask: sent[images.length], release };
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
        '504 `task_running`. With the header `Prefer: respond-async`, returns 202 at once.' +
        (kind === 'edit' ? ' JSON with `images: [{ image_url | file_id }]` is accepted, too.' : ''),
      form: () => imageFormOf(kind, schema, shape.files[0]!),
      answer: () => jsonOrEvents(imagesShape),
      accepted: createdShape,
      onRequest: admitForm(context, shape, kind === 'edit' ? /^application\/json\b/i : undefined),
      handler: async (request, reply) => {
        const signal = disconnectSignal(reply);
        const answer = async (values: Fields, sent: SentImages, free: () => unknown) => {
          const defaultFormat = defaultFormatOf(request, context.config);
          const [response, fields] = imageResponseOf(values, defaultFormat);
          const ignored = [...response.ignored, ...unknownNames(schema, fields)];
          const asked = { kind, fields, ...sent, ignored };
          const submitted = await submitMedia(context, request, reply, asked);
          // The task has its own copies: others get the room while the client waits.
          await free();
          if (response.format === null && prefersTask(request))
            return sendCreated(reply, submitted);
          const awaited = { submitted, signal };
          return response.format === null
            ? await sendImages(context, reply, awaited, 'url')
            : await sendOpenAiImages(context, request, reply, awaited, response);
        };
        if (!request.isMultipart()) {
          const { values, release, ...sent } = await readReferences(request, context);
          return answer(values, sent, release).finally(release);
        }
        return withForm(request, shape, { spool, signal }, (form, uploads) => {
          const images = sentFiles(form, 'image', shape);
          const mask = kind === 'edit' ? sentFiles(form, 'mask', shape)[0] : null;
          const values = valuesOf(form, formFieldsOf(schema));
          return answer(values, { images, mask }, () => uploads.discard());
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
