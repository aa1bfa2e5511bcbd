import type { Field } from '../../schema/fields.ts';
import {
  argumentName,
  type CommandDefinition,
  descriptionOf,
  flagFields,
  flagNames,
} from '../command/command.ts';

/** Completions of a value: its choices, or else file names, or else none. */
export interface Value {
  readonly name: string;
  readonly choices: readonly string[];
  readonly files: boolean;
}

export interface Flag {
  /** As typed, dashes included. */
  readonly names: readonly string[];
  readonly summary: string;
  /** Undefined for a switch. */
  readonly value?: Value | undefined;
}

export interface CommandNode {
  /** The words that lead to the command: `oriel convert`. */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly children: readonly CommandNode[];
  readonly flags: readonly Flag[];
  /** The first positional; undefined if the command takes none. */
  readonly operand?: Value | undefined;
}

const HELP: Flag = { names: ['-h', '--help'], summary: 'print help' };
const VERSION: Flag = { names: ['-V', '--version'], summary: 'print the version' };

function flagOfField(field: Field): Flag {
  const { name, kind, choices, path } = field;
  return {
    names: flagNames(field),
    summary: descriptionOf(field),
    value: kind === 'boolean' ? undefined : { name, choices, files: path },
  };
}

function nodeOf(definition: CommandDefinition, above: string): CommandNode {
  const { name, summary, flags = [], subcommands = [], positionals = [] } = definition;
  const path = `${above} ${name}`;
  const [first] = positionals;
  return {
    path,
    name,
    summary,
    children: childrenOf(subcommands, path),
    flags: [...flags.flatMap(flagFields).map(flagOfField), HELP],
    operand: first && {
      name: argumentName(first),
      choices: first.choices ?? [],
      files: first.path ?? false,
    },
  };
}

/** The nodes of commands below one path, with the `help` that commander adds to each group. */
function childrenOf(commands: readonly CommandDefinition[], path: string): CommandNode[] {
  if (commands.length === 0) return [];
  const help: CommandNode = {
    path: `${path} help`,
    name: 'help',
    summary: 'print help for a command',
    children: [],
    flags: [],
    operand: { name: 'command', choices: commands.map(({ name }) => name), files: false },
  };
  return [...commands.map((command) => nodeOf(command, path)), help];
}

export function rootOf(commands: readonly CommandDefinition[]): CommandNode {
  const children = childrenOf(commands, 'oriel');
  return { path: 'oriel', name: 'oriel', summary: '', children, flags: [VERSION, HELP] };
}

export function flatten(node: CommandNode): CommandNode[] {
  return [node, ...node.children.flatMap(flatten)];
}

/** A word that every one of the three shells takes literally. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export const words = (texts: readonly string[]): string => texts.map(quote).join(' ');
