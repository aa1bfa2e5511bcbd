import * as v from 'valibot';
import {
  type Field,
  field,
  fieldsOf,
  type ObjectSchema,
  parseFields,
} from '../../schema/fields.ts';

interface FlagNotes {
  readonly short?: string;
  /** Shells complete it with file names. */
  readonly path?: true;
}

/** A required flag that takes a text. */
export const textField = (
  description: string,
  expects: string,
  { maxLength = Number.POSITIVE_INFINITY, ...notes }: FlagNotes & { maxLength?: number } = {},
) =>
  field(v.pipe(v.string(), v.nonEmpty(), v.maxLength(maxLength)), description, {
    expects,
    ...notes,
  });

/** A flag that takes a text, undefined where it is not given. */
export const textFlag = (...declared: Parameters<typeof textField>) =>
  v.optional(textField(...declared));

/** A switch that is off by default. */
export const flag = (description: string, notes: FlagNotes = {}) =>
  v.optional(field(v.boolean(), description, notes), false);

/** `chromaSubsampling` on the command line is `--chroma-subsampling`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** The spellings of a property's flag, the short one first. A switch that is on by default is `--no-`. */
export function flagNames({ name, short, default: preset }: Field): string[] {
  const long = preset === true ? `--no-${flagOf(name).slice(2)}` : flagOf(name);
  return short === undefined ? [long] : [`-${short}`, long];
}

/** What a flag does. */
export function descriptionOf({ default: preset, off, description }: Field): string {
  return (preset === true && off) || description;
}

/** The description of a flag or a positional in the help. */
export function helpOf(field: Field): string {
  const notes = [];
  if (field.kind !== 'boolean')
    notes.push(field.choices.length > 0 ? field.choices.join(', ') : field.expects);
  if (field.default !== undefined && typeof field.default !== 'boolean')
    notes.push(`default ${field.default}`);
  const description = descriptionOf(field);
  return notes.length > 0 ? `${description} (${notes.join('; ')})` : description;
}

/**
 * Picks a schema's properties out of what commander parsed, and checks them.
 *
 * @throws Failure invalid_request that names the flag
 */
export function readFlags<Output>(
  schema: ObjectSchema<Output>,
  values: Readonly<Record<string, unknown>>,
): Output {
  const own = fieldsOf(schema)
    .map(({ name }) => [name, values[name]] as const)
    .filter(([, value]) => value !== undefined);
  return parseFields(schema, Object.fromEntries(own), flagOf);
}
