import type { CommandDefinition } from '../command/command.ts';
import { CHECKS, doctorFlags } from './checks.ts';

/** Finds out what is wrong with a daemon and what it needs. */
export const doctorCommand: CommandDefinition = {
  name: 'doctor',
  summary: 'Find out what is wrong: machine, disk, store, providers, proxy',
  flags: [{ heading: 'Options:', schema: doctorFlags }],
  notes: [
    `Checks:\n${CHECKS.map(({ name, what }) => `  ${name.padEnd(15)}${what}`).join('\n')}`,
    `Run it as the user of the daemon, with its environment, whether the daemon runs
or not. Asks each provider for one short answer, and stores and deletes one
object in the bucket. Exits with 1 if a check failed, not for a warning.`,
  ],
  examples: ['oriel doctor', 'oriel doctor --only disk,providers --json'],
  run: async ({ flags }, { version }) =>
    (await import('./doctor-run.ts')).runDoctor(flags, version),
};
