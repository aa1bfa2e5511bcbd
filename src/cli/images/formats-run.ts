import { supportedFormats } from '../../images/programs/support.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { type Columns, printTable } from '../terminal/table.ts';
import { print } from '../terminal/terminal.ts';
import { formatsFlags } from './command-flags.ts';

const COLUMNS: Columns<ReturnType<typeof supportedFormats>[number]> = {
  FORMAT: [({ format }) => format],
  'READ BY': [({ read }) => read ?? '-'],
  'WRITTEN BY': [({ write }) => write ?? '-'],
  EXTENSIONS: [({ extensions }) => extensions.join(' ')],
};

/** Lists the formats, and what reads and writes them on this machine. */
export async function runFormats({ flags }: CommandInput): Promise<number> {
  const formats = supportedFormats();
  if (readFlags(formatsFlags, flags).json) {
    await print(`${JSON.stringify({ formats })}\n`);
    return 0;
  }
  await printTable(COLUMNS, formats);
  const missing = formats.flatMap((one) =>
    one.missing ? [`${one.format}: ${one.missing}\n`] : [],
  );
  if (missing.length > 0) await print(`\n${missing.join('')}`);
  return 0;
}
