import { Failure } from '../../failure.ts';
import type { ObjectSchema } from '../../schema/fields.ts';

/** An argument that is given by its position. */
export interface Positional {
  readonly name: string;
  readonly description: string;
  readonly required?: boolean;
  /** Takes all further arguments. */
  readonly variadic?: boolean;
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

/** Arguments as commander parsed them; flags are not yet checked against their schema. */
export interface CommandInput {
  /** By position: a text, a list where it is variadic, undefined where it was left out. */
  readonly positionals: readonly unknown[];
  readonly flags: Readonly<Record<string, unknown>>;
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
  /** Paragraphs of the help below the flags. */
  readonly notes?: readonly string[];
  /** Whole command lines, listed at the end of the help. */
  readonly examples?: readonly string[];
  readonly subcommands?: readonly CommandDefinition[];
  /**
   * Loads the command's code and runs it. A command with subcommands runs where none of them is named.
   *
   * @returns the exit code
   */
  readonly run?: (input: CommandInput, line: CommandLine) => Promise<number>;
}

const CODE = 'usage';

/** An error in the command line: nothing was done, and the exit code is 2. */
export function usageFailure(message: string): Failure {
  return new Failure('invalid_request', message, { code: CODE });
}

/** Whether a failure is an error in the command line: a contradiction, or an invalid flag. */
export function isUsageFailure({ code, param }: Failure): boolean {
  return code === CODE || param !== null;
}
