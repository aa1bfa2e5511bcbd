import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { describeField, metadataOf } from '../../schema/fields.ts';

export interface JsonSchema {
  readonly description?: string;
  readonly type?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly [keyword: string]: unknown;
}

interface ObjectJsonSchema extends Record<string, unknown> {
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** Text with an environment variable, whose value is checked when the file is loaded. */
const VARIABLE: JsonSchema = { type: 'string', pattern: '\\$\\{' };

/** The schema of one setting for editors: with its description, and open to environment variables. */
function setting(converted: JsonSchema, schema: v.GenericSchema): JsonSchema {
  const { description: summary } = describeField('', schema);
  const { expects } = metadataOf(schema);
  const description = [summary, ...(expects ? [`Expects ${expects}.`] : [])].join(' ');
  const [only, nothing] = converted.anyOf ?? [];
  if (only?.type === 'object' && nothing?.type === 'null') {
    // A section whose settings are all commented out is null.
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

/** The JSON Schema by which editors check a file of YAML whose texts may have variables. */
export function editorSchema(title: string, schema: v.GenericSchema): JsonSchema {
  const converted = toJsonSchema(schema, {
    typeMode: 'input',
    target: 'draft-07',
    // Checks in code have no equivalent in JSON Schema; descriptions state them.
    errorMode: 'ignore',
    ignoreActions: ['metadata'],
    overrideSchema({ valibotSchema, jsonSchema }) {
      const { entries } = valibotSchema as { readonly entries?: v.ObjectEntries };
      if (entries === undefined) return null;
      const { required, properties, ...rest } = jsonSchema as unknown as ObjectJsonSchema;
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
  return { title, ...(converted as object) };
}
