import type { FastifyPluginAsync } from 'fastify';
import * as v from 'valibot';
import type { Operation } from '../../operations/operation.ts';
import { OPERATIONS } from '../../operations/registry.ts';
import { fieldsOf } from '../../schema/fields.ts';
import type { AppContext } from '../app-context.ts';
import { imagesField } from '../batch/named-images.ts';
import { batchOptions } from '../batch/schema.ts';

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
  gives: v.pipe(v.picklist(['image', 'data']), v.description('a ZIP of images, or JSON')),
  fields: v.array(
    v.object({
      name: v.string(),
      type: v.pipe(
        v.picklist(['integer', 'number', 'boolean', 'string', 'file']),
        v.description('the type of its value; of file the field is a file of the form'),
      ),
      required: v.boolean(),
      repeatable: v.pipe(v.boolean(), v.description('a list, with an item on each line')),
      choices: v.nullable(v.array(v.string())),
      minimum: v.nullable(v.number()),
      maximum: v.nullable(v.number()),
      default: v.nullable(value),
      sample: v.pipe(
        v.nullable(value),
        v.description('a value to begin with, where the default is none'),
      ),
      description: v.string(),
      expects: v.pipe(v.string(), v.description('what the field accepts, in words')),
    }),
  ),
});

type OperationRecord = v.InferOutput<typeof operationShape>;
type Value = v.InferOutput<typeof value>;

/** An operation with all that a form needs. @param side the limit of `width` and `height` */
function operationRecord(operation: Operation, endpoint: string, side: number): OperationRecord {
  const { properties, required } = batchOptions(operation, side);
  const image = imagesField(operation);
  const sample = (operation.sample ?? {}) as Readonly<Record<string, Value>>;
  return {
    object: 'operation',
    name: operation.name,
    endpoint: `/api/free/${endpoint}`,
    summary: operation.summary,
    gives: operation.gives,
    fields: fieldsOf(operation.options).map((field) => {
      const { minimum = null, maximum = null } = properties[field.name]!;
      return {
        name: field.name,
        type: field.name === image?.name ? 'file' : field.kind,
        required: required.includes(field.name),
        repeatable: field.repeatable,
        choices: field.choices.length > 0 ? [...field.choices] : null,
        minimum,
        maximum,
        default: (field.default as Value | undefined) ?? null,
        sample: sample[field.name] ?? null,
        description: field.description,
        expects: field.expects,
      };
    }),
  };
}

/** The image operations that have endpoints, with their fields. */
export function operationRoutes({ config }: AppContext): FastifyPluginAsync {
  const data = OPERATIONS.flatMap((operation) =>
    operation.endpoint === undefined
      ? []
      : [operationRecord(operation, operation.endpoint, config.batch.side)],
  );
  return async (server) => {
    server.get('/v1/operations', {
      config: { uncounted: true },
      schema: {
        summary: 'The image operations with their fields: types, choices, ranges, defaults',
        tags: ['Batch images'],
        response: { 200: v.object({ object: v.literal('list'), data: v.array(operationShape) }) },
      },
      handler: async () => ({ object: 'list', data }),
    });
  };
}
