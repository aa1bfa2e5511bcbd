import * as v from 'valibot';
import type { SetOperation } from '../../operations/batch/set.ts';
import { fieldsOf } from '../../schema/fields.ts';
import { BINARY, jsonSchemaOf, withSample } from '../openapi/openapi.ts';
import type { FileField, FormShape } from '../uploads/parts.ts';
import { fileFields } from './named-images.ts';

const record = {
  index: v.number(),
  inputFilename: v.string(),
  status: v.picklist(['succeeded', 'failed']),
  originalSize: v.number(),
};
const failure = v.object({ code: v.string(), message: v.string() });
const summary = {
  total: v.number(),
  succeeded: v.number(),
  failed: v.number(),
  originalBytes: v.number(),
};

/** The JSON result of a batch. */
const batchResult = {
  requestId: v.string(),
  operation: v.string(),
  status: v.literal('completed'),
  summary: v.object(summary),
  results: v.array(
    v.object({
      ...record,
      data: v.optional(v.record(v.string(), v.unknown())),
      error: v.optional(failure),
      warnings: v.optional(v.array(failure)),
    }),
  ),
};

interface Property {
  readonly minimum?: number;
  maximum?: number;
}

/**
 * The JSON Schema of an operation's options as fields of a form.
 *
 * @param side the limit of `width` and `height`
 */
export function batchOptions(operation: SetOperation, side: number) {
  const { properties, required = [] } = jsonSchemaOf(operation.options, 'input') as {
    readonly properties: Record<string, Property>;
    readonly required?: readonly string[];
  };
  const { width, height } = properties;
  for (const bounded of [width, height]) if (bounded) bounded.maximum = side;
  return { properties, required };
}

/** The JSON Schema of a batch's form. @param side the limit of `width` and `height` */
function formOf(operation: SetOperation, files: FileField, side: number) {
  const options = batchOptions(operation, side);
  const own: Record<string, object> = options.properties;
  for (const { name, max, orText } of fileFields(operation)) {
    if (max > 1) {
      const description = 'Images and profiles to which the recipe refers by their file names.';
      own[name] = { type: 'array', items: BINARY, maxItems: max, description };
    } else if (!orText)
      own[name] = {
        ...BINARY,
        description: operation.set ? 'The reference.' : 'The image or mask to lay over the others.',
      };
  }
  for (const { name, repeatable, description } of fieldsOf(operation.options)) {
    if (repeatable) own[name] = { type: 'string', description: `${description}, one on each line` };
  }
  const properties = {
    [files.name]: {
      type: 'array',
      items: BINARY,
      minItems: 1,
      maxItems: files.max,
      description: 'The images, at most 30 MiB each and 100 MiB in all.',
    },
    ...withSample(own, operation.sample ?? {}),
  };
  const required = [files.name, ...options.required];
  return { type: 'object', properties, required, additionalProperties: false };
}

/**
 * The OpenAPI schema of a batch endpoint.
 *
 * @param side the limit of `width` and `height`
 */
export function batchSchema(operation: SetOperation, { files, fields }: FormShape, side: number) {
  const description =
    operation.gives === 'image'
      ? 'Returns a ZIP of the images and `manifest.json`, which has the result of each file.'
      : 'Returns the results in the order of the files.';
  return {
    summary: operation.summary,
    description: `${description} Needs the key of a paid account. Fields: ${fields.join(', ')}.`,
    tags: ['Batch images'],
    consumes: ['multipart/form-data'],
    body: () => formOf(operation, files[0]!, side),
    response: {
      200:
        operation.gives === 'image'
          ? {
              description: 'The ZIP',
              content: { 'application/zip': { schema: BINARY } },
            }
          : v.object({ ...batchResult, ...operation.set?.adds }),
    },
  };
}
