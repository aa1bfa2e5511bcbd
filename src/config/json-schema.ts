import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { describeField, metadataOf } from '../schema/fields.ts';
import { configSchema } from './schema.ts';

interface JsonSchema {
  readonly description?: string;
  readonly type?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly [keyword: string]: unknown;
}

interface Converted extends Record<string, unknown> {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** Stands for any value: what the environment gives is checked when it is there. */
const VARIABLE: JsonSchema = { type: 'string', pattern: '\\$\\{' };

/** One setting as editors show it: described, in one piece, and open to variables. */
function setting(converted: JsonSchema, schema: v.GenericSchema): JsonSchema {
  const { description: summary } = describeField('', schema);
  const { expects } = metadataOf(schema);
  const description = [summary, ...(expects ? [`Expects ${expects}.`] : [])].join(' ');
  const [only, nothing] = converted.anyOf ?? [];
  if (only?.type === 'object' && nothing?.type === 'null') {
    // A section whose settings are all commented out reads as null.
    return { ...only, type: ['object', 'null'], description };
  }
  const { default: preset, description: _, ...bare } = converted;
  const about = {
    ...(description && { description }),
    ...(preset !== undefined && { default: preset }),
  };
  const structured = ['object', 'array'].includes(String(bare.type)) || 'const' in bare;
  const free =
    bare.type === 'string' && !('pattern' in bare) && !('enum' in bare) && !('format' in bare);
  if (structured || free) return { ...about, ...bare };
  return { ...about, anyOf: [...(bare.anyOf ?? [bare]), VARIABLE] };
}

/** The configuration as editors check it: what a file says, before it is loaded. */
export function configJsonSchema(): JsonSchema {
  const converted = toJsonSchema(configSchema, {
    typeMode: 'input',
    target: 'draft-07',
    // Checks by code have no words in JSON Schema; the description tells of them.
    errorMode: 'ignore',
    ignoreActions: ['metadata'],
    overrideSchema({ valibotSchema, jsonSchema }) {
      const { entries } = valibotSchema as { readonly entries?: v.ObjectEntries };
      if (entries === undefined) return null;
      const { required, properties, ...rest } = jsonSchema as unknown as Converted;
      const settings = Object.entries(properties).map(([name, property]) => [
        name,
        setting(property, entries[name] as v.GenericSchema),
      ]);
      return {
        ...rest,
        ...(required?.length && { required }),
        properties: Object.fromEntries(settings),
      } as never;
    },
  });
  return { title: 'Oriel configuration', ...(converted as object) };
}
