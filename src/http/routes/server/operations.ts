import type { FastifyInstance } from 'fastify';
import * as v from 'valibot';
import type { SetOperation } from '../../../operations/batch/set.ts';
import { BATCHES } from '../../../operations/internal.ts';
import { presetSource } from '../../../operations/recipe/presets.ts';
import { field, fieldsOf } from '../../../schema/fields.ts';
import { fileFields } from '../../batch/named-images.ts';
import { batchOptions } from '../../batch/schema.ts';
import type { AppContext } from '../../request/app-context.ts';
import { addEndpoint } from '../../request/endpoint.ts';
import { listShape } from '../../request/query.ts';
import type { FileField } from '../../uploads/parts.ts';

const value = v.union([v.string(), v.number(), v.boolean(), v.array(v.string())]);

const operationShape = v.object({
  object: v.literal('operation'),
  name: v.string(),
  endpoint: v.pipe(
    v.string(),
    v.description('the path of its batches'),
    v.examples(['/api/free/batch-resize-images']),
  ),
  summary: v.string(),
  gives: field(v.picklist(['image', 'data']), 'a ZIP of images, or JSON'),
  over: field(v.picklist(['each', 'all']), 'a result of each file, or one of all files together'),
  fields: v.array(
    v.object({
      name: v.string(),
      type: field(
        v.picklist(['integer', 'number', 'boolean', 'string', 'file']),
        'the type of its value; of file the field is a file of the form',
      ),
      required: v.boolean(),
      repeatable: field(v.boolean(), 'a list: an item on each line, or several files'),
      choices: v.nullable(v.array(v.string())),
      minimum: v.nullable(v.number()),
      maximum: v.nullable(v.number()),
      default: v.nullable(value),
      sample: field(v.nullable(value), 'a value to begin with, where the default is none'),
      presets: field(
        v.nullable(v.array(v.object({ name: v.string(), text: v.string() }))),
        'documents that may be sent by their names',
      ),
      description: v.string(),
      expects: field(v.string(), 'what the field accepts, in words'),
    }),
  ),
});

export type OperationRecord = v.InferOutput<typeof operationShape>;
type FieldRecord = OperationRecord['fields'][number];
type Value = v.InferOutput<typeof value>;

/** An operation with all that a form needs. @param side the limit of `width` and `height` */
function operationRecord(operation: SetOperation, side: number): OperationRecord {
  const { properties, required } = batchOptions(operation, side);
  const files = fileFields(operation).filter(({ orText }) => !orText);
  const sample = (operation.sample ?? {}) as Readonly<Record<string, Value>>;
  const { document } = operation;
  const fields = fieldsOf(operation.options).map((field): FieldRecord => {
    const { minimum = null, maximum = null } = properties[field.name]!;
    return {
      name: field.name,
      type: files.some(({ name }) => name === field.name) ? 'file' : field.kind,
      required: required.includes(field.name),
      repeatable: field.repeatable,
      choices: field.choices.length > 0 ? [...field.choices] : null,
      minimum,
      maximum,
      default: (field.default as Value | undefined) ?? null,
      sample: sample[field.name] ?? null,
      presets: document?.option === field.name ? presetsOf(document.names) : null,
      description: field.description,
      expects: field.expects,
    };
  });
  return {
    object: 'operation',
    name: operation.name,
    endpoint: `/api/free/${operation.endpoint}`,
    summary: operation.summary,
    gives: operation.gives,
    over: operation.set ? 'all' : 'each',
    fields: [...fields, ...files.filter(({ max }) => max > 1).map(furtherImages)],
  };
}

function presetsOf(names: readonly string[]) {
  return names.map((name) => ({ name, text: presetSource(name) ?? '' }));
}

/** The form field of images to which a document refers; it is no option of the operation. */
function furtherImages({ name, max }: FileField): FieldRecord {
  return {
    ...{ name, type: 'file', required: false, repeatable: true },
    ...{ choices: null, minimum: null, maximum: null, default: null, sample: null, presets: null },
    description: 'images to which the recipe refers by their file names',
    expects: `at most ${max} files`,
  };
}

/** The image operations that have endpoints, with their fields. */
export function operationRoutes(server: FastifyInstance, { config }: AppContext): void {
  let data: OperationRecord[] | undefined;
  addEndpoint(server, {
    path: 'GET /v1/operations',
    tag: 'Batch images',
    summary: 'The image operations with their fields: types, choices, ranges, defaults',
    config: { uncounted: true },
    answer: listShape(operationShape),
    handler: async () => {
      data ??= BATCHES.map((operation) => operationRecord(operation, config.batch.side));
      return { object: 'list' as const, data };
    },
  });
}
