import { existsSync, writeFileSync } from 'node:fs';
import type { FileRecord } from '../../operations/batch/batch-record.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import { snippetOf, srcset } from '../../operations/recipe/srcset.ts';
import { chooseReport, type ReportChooser } from '../batch/image-choices.ts';
import { outputFlags } from '../batch/image-flags.ts';
import { runImageCommand } from '../batch/image-run.ts';
import { type CommandInput, readFlags, usageFailure } from '../command/command.ts';
import { existsFailure, Writer } from '../files/writer.ts';
import { failuresReport } from '../reports/report.ts';
import { jsonText, print } from '../terminal/terminal.ts';
import { srcsetOptions } from './command-flags.ts';

/** Makes the files of responsive images, and prints or writes the markup that shows them. */
export async function runSrcset({ positionals, flags }: CommandInput): Promise<number> {
  const options = readFlags(srcsetOptions, flags);
  const { snippet, snippetOut } = options;
  const { out, zip, watch, overwrite } = readFlags(outputFlags, flags);
  if (watch && snippetOut !== undefined)
    throw usageFailure('--watch and --snippet-out cannot be combined');
  if (zip === '-' && snippet !== 'none' && snippetOut === undefined) {
    throw usageFailure('--zip - takes standard output; --snippet-out FILE writes the snippets');
  }
  if (snippetOut !== undefined && snippet === 'none') {
    throw usageFailure('--snippet-out: expected --snippet html or json, received none');
  }
  if (snippetOut !== undefined && !overwrite && existsSync(snippetOut))
    throw existsFailure(snippetOut);
  const folder = zip === undefined ? (out ?? '.') : undefined;
  const made: MadeSnippet[] = [];
  const reportOf: ReportChooser = (operation, choices, head) => {
    const { json, jsonl, dryRun } = choices.run;
    const makes = !dryRun && !choices.outputs.check;
    const printed = makes && snippet !== 'none' && snippetOut === undefined && !json && !jsonl;
    const own = { ...head, operation: 'srcset' };
    const report = printed ? failuresReport() : chooseReport(operation, choices, own);
    const snippetIn = (record: FileRecord) => (makes ? snippetOf(record, folder, options) : null);
    const described = (record: FileRecord, data = snippetIn(record)): FileRecord =>
      data ? { ...record, data: { ...record.data, ...data } } : record;
    const { finished } = report;
    return {
      ...report,
      ...(finished && { finished: (record: FileRecord) => finished(described(record)) }),
      async add(record) {
        const found = snippetIn(record);
        if (found) made.push({ inputFilename: record.inputFilename, ...found });
        if (found && printed && snippet === 'html') await print(`${found.html}\n`);
        await report.add(described(record, found));
      },
      async finish(status, totals) {
        if (printed && snippet === 'json') await print(`${documentOf(made)}\n`);
        await report.finish(status, totals);
      },
    };
  };
  const files = positionals[0] as readonly string[];
  const operation = { ...srcset, name: 'run', options: srcsetOptions } as Operation;
  const code = await runImageCommand(operation, files, flags, { reportOf });
  if (snippetOut !== undefined && made.length > 0) {
    const content = snippet === 'json' ? documentOf(made) : made.map(({ html }) => html).join('\n');
    const write = (descriptor: number) => void writeFileSync(descriptor, `${content}\n`);
    await new Writer({ overwrite }).write(snippetOut, write);
  }
  return code;
}

/** What a page needs to show an image. */
type MadeSnippet = NonNullable<ReturnType<typeof snippetOf>> & { readonly inputFilename: string };

const documentOf = (made: readonly MadeSnippet[]): string => `[${made.map(jsonText).join(',\n')}]`;
