import type { Positional } from '../command/command.ts';

/** Inputs of a command over many files. */
export const filesPositional: Positional = {
  name: 'files',
  description: 'files, folders with --recursive, quoted patterns, or - for standard input',
  variadic: true,
  path: true,
};
