import { type Argument, type Command, Option } from 'commander';
import {
  type Field,
  fieldsOf,
  fromText,
  type ObjectSchema,
  parseFields,
} from '../schema/fields.ts';

/** `chromaSubsampling` on the command line is `--chroma-subsampling`. */
export function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** How a property is set on the command line: what is on by itself is switched off. */
function switchOf({ name, default: preset }: Field): string {
  return preset === true ? `--no-${flagOf(name).slice(2)}` : flagOf(name);
}

/** What the help says of a flag or of what is given by place. */
export function describeField(field: Field): string {
  const notes = [];
  if (field.kind !== 'boolean')
    notes.push(field.choices.length > 0 ? field.choices.join(', ') : field.expects);
  if (field.default !== undefined && typeof field.default !== 'boolean')
    notes.push(`default ${field.default}`);
  return notes.length > 0 ? `${field.description} (${notes.join('; ')})` : field.description;
}

const fields = new WeakMap<Option | Argument, Field>();

/** The property that a flag or an argument was derived from; undefined for commander's own flags. */
export function fieldOf(derived: Option | Argument): Field | undefined {
  return fields.get(derived);
}

/** Remembers what an argument was derived from. */
export function attachField(argument: Argument, field: Field): Argument {
  fields.set(argument, field);
  return argument;
}

/**
 * Adds a flag for every property of a schema, under a heading of its own in the help.
 *
 * @param except properties that are no flags
 */
export function addFlags(
  command: Command,
  schema: ObjectSchema,
  heading: string,
  except: readonly string[] = [],
): void {
  for (const field of fieldsOf(schema)) {
    if (except.includes(field.name)) continue;
    const flag = field.short ? `-${field.short}, ${switchOf(field)}` : switchOf(field);
    const value =
      field.kind === 'integer' || field.kind === 'number' ? '<number>' : `<${field.name}>`;
    const option = new Option(
      field.kind === 'boolean' ? flag : `${flag} ${value}`,
      describeField(field),
    );
    option.helpGroup(heading);
    fields.set(option, field);
    if (field.repeatable) {
      option.argParser((text: string, given: readonly string[] = []) => [...given, text]);
    } else if (field.kind !== 'boolean') {
      option.argParser((text: string) => fromText(field, text));
    }
    command.addOption(option);
  }
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
