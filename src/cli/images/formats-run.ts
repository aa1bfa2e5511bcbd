import { supportedFormats } from '../../images/programs/support.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { printTable } from '../terminal/table.ts';
import { print } from '../terminal/terminal.ts';
import { formatsFlags } from './command-flags.ts';

const COLUMNS = ['FORMAT', 'READ BY', 'WRITTEN BY', 'EXTENSIONS'].map((title) => ({ title }));

/** Lists the formats, and what reads and writes them on this machine. */
export async function runFormats({ flags }: CommandInput): Promise<number> {
  const formats = supportedFormats();
  if (readFlags(formatsFlags, flags).json) {
    await print(`${JSON.stringify({ formats })}\n`);
    return 0;
  }
  const rows = formats.map(({ format, read, write, extensions }) =>
    [format, read ?? '-', write ?? '-', extensions.join(' ')].map((text) => ({ text })),
  );
  await printTable(COLUMNS, rows);
  const missing = formats.flatMap((one) =>
    one.missing ? [`${one.format}: ${one.missing}\n`] : [],
  );
  if (missing.length > 0) await print(`\n${missing.join('')}`);
  return 0;
}
