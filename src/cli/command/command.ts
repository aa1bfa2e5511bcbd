import * as v from 'valibot';
import { Failure } from '../../failure.ts';
import {
  boundedText,
  type Field,
  field,
  fieldsOf,
  type ObjectSchema,
  parseFields,
  withDefault,
} from '../../schema/fields.ts';

/** An argument that is given by its position. */
export interface Positional {
  /** `<file>` is required, `[file]` is optional, and `[files...]` takes all further arguments. */
  readonly syntax: string;
  readonly description: string;
  /** Values that shells complete. */
  readonly choices?: readonly string[];
  /** Shells complete it with file names. */
  readonly path?: boolean;
}

/** Flags derived from a schema, below a heading of their own in the help. */
export interface FlagGroup {
  readonly heading: string;
  readonly schema: ObjectSchema;
  /** Properties of the schema that are positionals. */
  readonly except?: readonly string[];
}

/** The flags of a command as commander parsed them, not yet checked against their schemas. */
export type Flags = Readonly<Record<string, unknown>>;

/** Arguments as commander parsed them. */
export interface CommandInput {
  /** By position: a text, a list for a variadic one, undefined for an argument that was not given. */
  readonly positionals: readonly unknown[];
  readonly flags: Flags;
}

/** The command line that a command belongs to. */
export interface CommandLine {
  readonly version: string;
  readonly commands: readonly CommandDefinition[];
}

/** One command. Its parser, help and shell completion derive from this record. */
export interface CommandDefinition {
  readonly name: string;
  readonly summary: string;
  /** Heading of the help below which it is listed. */
  readonly group?: string;
  readonly positionals?: readonly Positional[];
  readonly flags?: readonly FlagGroup[];
  /** Whether words after the first positional that look like flags belong to the positionals. */
  readonly passesOptions?: boolean;
  /** Paragraphs of the help below the flags. */
  readonly notes?: readonly string[];
  /** Whole command lines, listed at the end of the help. */
  readonly examples?: readonly string[];
  readonly subcommands?: readonly CommandDefinition[];
  /**
   * Loads the command's code and runs it. A command with subcommands runs if none of them is named.
   *
   * @returns the exit code
   * @throws Failure with code `usage` or with a `param` for an error in the command line
   */
  readonly run?: (input: CommandInput, line: CommandLine) => Promise<number>;
}

/** The name of an argument, without the brackets of its syntax. */
export const argumentName = ({ syntax }: Positional): string => syntax.replace(/[<>[\].]/g, '');

/** The fields of the flags of a command, in the order of the help. */
export function flagFields({ schema, except = [] }: FlagGroup): Field[] {
  return fieldsOf(schema).filter(({ name }) => !except.includes(name));
}

const USAGE = 'usage';

/** An error in the command line: nothing was done, and the exit code is 2. */
export function usageFailure(message: string): Failure {
  return new Failure('invalid_request', message, { code: USAGE });
}

/** Whether a failure is an error in the command line: a contradiction, or an invalid flag. */
export function isUsageFailure({ code, param }: Failure): boolean {
  return code === USAGE || param !== null;
}

type FlagNotes = Pick<NonNullable<Parameters<typeof field>[2]>, 'short' | 'path'>;

/** A required flag that takes a text. */
export const textField = (
  description: string,
  expects: string,
  { maxLength = Number.POSITIVE_INFINITY, ...notes }: FlagNotes & { maxLength?: number } = {},
) =>
  field(boundedText(maxLength), description, {
    expects,
    ...notes,
  });

/** A flag that takes a text, undefined if it is not given. */
export const textFlag = (...declared: Parameters<typeof textField>) =>
  v.optional(textField(...declared));

/** A switch that is off by default. */
export const flag = (description: string, notes: FlagNotes = {}) =>
  withDefault(v.boolean(), false, description, notes);

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

/** The noun of a field that expects no more than `a file`, `a file, or -` or the like. A text has none. */
export function nounOf({ expects }: Field): string | undefined {
  return /^an? (?!text)(\w+)(?:, or -)?$/.exec(expects)?.[1]?.toLowerCase();
}

/** The description of a flag or a positional in the help. What its noun says is not repeated. */
export function helpOf(field: Field): string {
  const { kind, choices, expects, default: preset } = field;
  const notes = [
    kind !== 'boolean' &&
      (choices.length > 0 ? choices.join(', ') : !/^an? \w+$/.test(expects) && expects),
    preset !== undefined && typeof preset !== 'boolean' && `default ${preset}`,
  ].filter(Boolean);
  const description = descriptionOf(field);
  return notes.length > 0 ? `${description} (${notes.join('; ')})` : description;
}

/**
 * Picks a schema's properties out of what commander parsed, and checks them.
 *
 * @throws Failure invalid_request that names the flag
 */
export function readFlags<Output>(schema: ObjectSchema<Output>, flags: Flags): Output {
  const own = fieldsOf(schema)
    .map(({ name }) => [name, flags[name]] as const)
    .filter(([, value]) => value !== undefined);
  return parseFields(schema, Object.fromEntries(own), flagOf);
}
