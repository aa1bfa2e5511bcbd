import type { CommandDefinition, FlagGroup } from '../command/command.ts';
import { listFlags, pruneFlags, scanFlags } from './cassette-flags.ts';

const folder = (name: string, description: string) => ({
  syntax: `<${name}>`,
  description,
  path: true,
});
const DIR = folder('dir', 'a folder of cassettes');
const options = (schema: FlagGroup['schema']): FlagGroup[] => [{ heading: 'Options:', schema }];

/** Looks after recordings of providers. */
export const cassettesCommand: CommandDefinition = {
  name: 'cassettes',
  summary: 'List, compare, check and clean up recordings of providers',
  subcommands: [
    {
      name: 'list',
      summary: 'List the recordings of a folder',
      positionals: [DIR],
      flags: options(listFlags),
      examples: ['oriel cassettes list cassettes'],
      run: async (input) => (await import('./cassette-runs.ts')).runList(input),
    },
    {
      name: 'prune',
      summary: 'Remove files that no recording needs, and recordings that no run used',
      positionals: [DIR],
      flags: options(pruneFlags),
      notes: ['Several runs may add to one file of used cassettes.'],
      examples: [
        'oriel serve --replay cassettes --used names.txt',
        'oriel cassettes prune cassettes --used names.txt',
      ],
      run: async (input) => (await import('./cassette-runs.ts')).runPrune(input),
    },
    {
      name: 'diff',
      summary: 'Compare two folders, and name the first field that changed',
      positionals: [folder('before', 'a folder of cassettes'), folder('after', 'another one')],
      flags: options(listFlags),
      notes: ['Exits with 1 if they differ.'],
      examples: ['oriel cassettes diff before after'],
      run: async (input) => (await import('./cassette-runs.ts')).runDiff(input),
    },
    {
      name: 'scan',
      summary: 'Search recordings for keys, tokens and passwords',
      positionals: [DIR],
      flags: options(scanFlags),
      notes: [
        `Searches for the usual forms of keys, for the keys in the configuration, and for
the values of variables named *KEY*, *TOKEN*, *SECRET* or *PASSWORD*.
Exits with 1 if one is found.`,
      ],
      examples: ['oriel cassettes scan cassettes'],
      run: async (input) => (await import('./cassette-runs.ts')).runScan(input),
    },
  ],
};
