import * as v from 'valibot';
import { editorSchema, type JsonSchema } from '../../config/yaml/editor-schema.ts';
import { encodingFault, encodingFields, formatField } from '../../images/encoding/options.ts';
import { boundedText, field, integer, nullish, optional, rule } from '../../schema/fields.ts';
import { templateFault } from '../definition/name-template.ts';
import { stepSchema } from '../definition/step.ts';
import { STEPS } from '../steps/steps.ts';
import { conditionsSchema } from './conditions.ts';

/** Most items of each list: a recipe runs over every image of a batch. */
const MAX_STEPS = 32;
const MAX_OUTPUTS = 32;
const MAX_WIDTHS = 16;

const when = optional(conditionsSchema, 'conditions on the image at this place');

const stepEntries = Object.fromEntries(
  [...STEPS.values()].map((step) => [
    step.name,
    nullish(stepSchema(step) as v.GenericSchema, step.summary),
  ]),
);

const step = v.pipe(
  v.strictObject({ ...stepEntries, when }),
  rule((given) => {
    const names = Object.keys(given).filter((name) => name !== 'when');
    if (names.length === 1) return null;
    return names.length === 0
      ? ['when', `expected one of ${[...STEPS.keys()].join(', ')} beside it`]
      : [names[1]!, `expected one step in each item of the list, received ${names[0]} too`];
  }),
);

const list = <Item extends v.GenericSchema>(item: Item, most: number, least = 0) =>
  v.pipe(v.array(item), v.minLength(least), v.maxLength(most));

const steps = optional(list(step, MAX_STEPS), 'changes of the pixels, in this order', {
  expects: `a list of at most ${MAX_STEPS} steps`,
});

const output = v.pipe(
  v.strictObject({
    name: optional(boundedText(200), 'template of the file name', {
      expects: 'a text of at most 200 characters',
    }),
    when,
    steps,
    widths: optional(
      list(integer(1, 65_535), MAX_WIDTHS, 1),
      'an output for each width, at most the own',
      {
        expects: `a list of at most ${MAX_WIDTHS} integers`,
      },
    ),
    format: v.optional(formatField("output format; the input's by default")),
    formats: optional(list(formatField('output format'), 6, 1), 'an output for each format', {
      expects: 'a list of formats',
    }),
    ...encodingFields,
  }),
  rule((given) => {
    const { name, widths, format, formats } = given;
    const fault = encodingFault(given);
    if (fault !== null) return fault;
    if (format && formats) return ['format', 'cannot be used with formats'];
    if (name === undefined) return null;
    const nameFault = templateFault(name);
    if (nameFault !== null) return ['name', nameFault];
    if (widths && new Set(widths).size > 1 && !name.includes('{width}')) {
      return ['name', 'expected {width} in it, because there are several widths'];
    }
    return formats && new Set(formats).size > 1 && !/\{(?:ext|format)\}/.test(name)
      ? ['name', 'expected {ext} or {format} in it, because there are several formats']
      : null;
  }),
);

const NAME = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z_][A-Za-z0-9_]*$/),
  v.metadata({ expects: 'letters, digits and _' }),
);

/** A recipe as it is written. */
export const recipeSchema = v.strictObject({
  description: optional(v.string(), 'what the recipe is for'),
  vars: optional(
    v.record(
      NAME,
      field(v.union([v.string(), v.number(), v.boolean()]), 'value of a variable', {
        expects: 'a text, a number, true or false',
      }),
    ), // biome-ignore lint/suspicious/noTemplateCurlyInString: the description shows how recipes write it
    'variables with their defaults: ${NAME} in a text stands for the value',
  ),
  steps,
  outputs: optional(list(output, MAX_OUTPUTS, 1), 'outputs for each image; one by default', {
    expects: `a list of 1 to ${MAX_OUTPUTS} outputs`,
  }),
});

export type WrittenRecipe = v.InferOutput<typeof recipeSchema>;
export type WrittenStep = NonNullable<WrittenRecipe['steps']>[number];

/** The JSON Schema by which editors check a recipe. A step that needs no options may be its name alone. */
export function recipeJsonSchema(): JsonSchema {
  const names = [...STEPS.values()]
    .filter((step) => v.safeParse(stepSchema(step), {}).success)
    .map(({ name }) => name);
  const withNames = (key: string, value: JsonSchema) =>
    key === 'steps' && value.type === 'array'
      ? { ...value, items: { anyOf: [{ enum: names }, value['items']] } }
      : value;
  return JSON.parse(JSON.stringify(editorSchema('Oriel recipe', recipeSchema), withNames));
}
