import multipart from '@fastify/multipart';
import type { FastifyPluginAsync, FastifyRequest } from 'fastify';
import { Failure } from '../../failure.ts';
import { DEFAULT_LIMITS } from '../../images/limits.ts';
import { assetUrl } from '../../media/record.ts';
import type { SentFile } from '../../media/requests/call.ts';
import { editRequest } from '../../media/requests/edit.ts';
import type { Fields } from '../../media/requests/fields.ts';
import { fieldsOf, fromText } from '../../schema/fields.ts';
import type { AppContext } from '../app-context.ts';
import { draining } from '../errors.ts';
import { jsonSchemaOf, withSample } from '../openapi.ts';
import { disconnectSignal } from '../transport/client-disconnect.ts';
import {
  checkFormHeaders,
  type Form,
  type FormFile,
  type FormShape,
  readForm,
} from '../uploads/form.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';
import { answerWithImages } from './media-response.ts';
import { createdShape, imagesShape, uploadShape } from './media-schema.ts';
import { formatOf, waitingFields } from './response-format.ts';

const { fileBytes } = DEFAULT_LIMITS;
const MEGABYTE = 1024 * 1024;

const editFields = fieldsOf(editRequest);

const EDIT: FormShape = {
  files: [
    { name: 'image', least: 1, most: 16 },
    { name: 'mask', least: 0, most: 1 },
  ],
  fileBytes,
  // As for a batch.
  requestBytes: 100 * MEGABYTE,
  fields: [...editFields.map(({ name }) => name), ...Object.keys(waitingFields)],
  // The longest prompt, each of its characters in four bytes.
  valueBytes: 128_000,
};

const UPLOAD: FormShape = {
  files: [{ name: 'file', least: 1, most: 1 }],
  fileBytes,
  // What is around the file in a form is little.
  requestBytes: fileBytes + MEGABYTE,
  fields: [],
};

const binary = { type: 'string', format: 'binary' } as const;

/** What the documentation says of an edit's form. */
function editBody() {
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
        description: 'What is to be changed: 30 MB each and 100 MB together at the most.',
      },
      ...withSample(
        {
          mask: {
            ...binary,
            description: 'Where: a PNG of the size of the first image, with alpha.',
          },
          ...properties,
          response_format: jsonSchemaOf(waitingFields.response_format, 'input'),
        },
        { model: 'sandbox-image', prompt: 'make it night' },
      ),
    },
    required: ['image', ...required],
    additionalProperties: false,
  };
}

/** The image endpoints that take forms (interface parts 4.6 and 4.7). */
export function mediaFormRoutes(context: AppContext): FastifyPluginAsync {
  const { media, spool } = context;
  const admit = (shape: FormShape) => async (request: FastifyRequest) => {
    if (context.draining.aborted) throw draining();
    checkFormHeaders(request, shape);
    spool.checkRoom(Number(request.headers['content-length'] ?? 0));
  };
  return async (server) => {
    // JSON and text are no forms: what no parser takes is answered 415.
    server.removeAllContentTypeParsers();
    await server.register(multipart);

    server.post('/v1/images/edits', {
      schema: {
        summary: 'Change images by a prompt, and wait for the results',
        description: 'Answers 202 with the task where it takes longer than the server waits.',
        tags: ['Images'],
        consumes: ['multipart/form-data'],
        body: editBody(),
        response: { 200: imagesShape, 202: createdShape },
      },
      onRequest: admit(EDIT),
      handler: async (request, reply) => {
        const idempotencyKey = idempotencyKeyOf(request);
        const signal = disconnectSignal(reply);
        const uploads = spool.uploads();
        try {
          const form = await readForm(request, EDIT, uploads, signal);
          const [format, fields] = formatOf(valuesOf(form));
          const task = await media.submit({
            kind: 'edit',
            fields,
            images: sentFiles(form, 'image'),
            mask: sentFiles(form, 'mask')[0] ?? null,
            holder: request.holder,
            idempotencyKey,
            publicUrl: context.publicUrl,
          });
          // What it needs of them is kept by now: nobody's room while its client waits.
          await uploads.discard();
          return await answerWithImages(context, reply, task, format, signal);
        } finally {
          await uploads.discard();
        }
      },
    });

    server.post('/v1/images/upload', {
      schema: {
        summary: 'Keep an image, to refer to it by its address',
        description: 'PNG, JPEG, WebP, AVIF, GIF or TIFF, 30 MB at the most.',
        tags: ['Images'],
        consumes: ['multipart/form-data'],
        body: {
          type: 'object',
          properties: { file: binary },
          required: ['file'],
          additionalProperties: false,
        },
        response: { 200: uploadShape },
      },
      onRequest: admit(UPLOAD),
      handler: async (request, reply) => {
        const uploads = spool.uploads();
        try {
          const form = await readForm(request, UPLOAD, uploads, disconnectSignal(reply));
          const asset = await media.upload(request.holder, sentFiles(form, 'file')[0]!);
          return { url: assetUrl(context.publicUrl, asset) };
        } finally {
          await uploads.discard();
        }
      },
    });
  };
}

/** A form's texts in the types that JSON would have. */
function valuesOf({ fields }: Form): Fields {
  const values: Record<string, unknown> = Object.fromEntries(fields);
  for (const field of editFields) {
    const text = fields.get(field.name);
    if (text !== undefined) values[field.name] = fromText(field, text);
  }
  return values;
}

function sentFiles({ files }: Form, name: string): SentFile[] {
  return files.get(name)!.map((file, index, all) => sent(file, nameOf(name, index, all.length)));
}

function nameOf(name: string, index: number, of: number): string {
  return of === 1 ? name : `${name}[${index}]`;
}

/** @throws Failure 413 where it was too large to be kept */
function sent({ path, size }: FormFile, param: string): SentFile {
  if (path !== null) return { path, size };
  const most = `${fileBytes / MEGABYTE} MB (${fileBytes} bytes)`;
  throw new Failure(
    'invalid_request',
    `${param}: expected at most ${most}, received ${size} bytes`,
    {
      param,
      code: 'file_too_large',
      status: 413,
    },
  );
}
