import * as v from 'valibot';
import { toCredits } from '../store/credits.ts';
import { checkIntegrity } from '../store/integrity.ts';
import { defineAdminCommand } from './admin-command.ts';
import { decimal } from './records.ts';

const audit = defineAdminCommand({
  group: 'store',
  name: 'audit',
  summary: 'Compare every sum of credits with the records that it is the sum of',
  positionals: [],
  options: v.strictObject({}),
  examples: ['store audit', 'store audit --json'],
  run: async (store) => {
    const { granted, reserved, spent, ...report } = await checkIntegrity(store.transfer.read());
    return {
      ...report,
      granted: toCredits(granted),
      reserved: toCredits(reserved),
      spent: toCredits(spent),
    };
  },
  show: ({ faults, ...sums }) => ({
    tables: [Object.entries(sums).map(([name, value]) => [name, decimal(value)])],
    messages: faults.length === 0 ? ['every sum agrees with its records'] : faults,
    exitCode: faults.length === 0 ? 0 : 1,
  }),
});

export const STORE_COMMANDS = [audit];
