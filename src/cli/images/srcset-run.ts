import { existsSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type * as v from 'valibot';
import { encodingFields } from '../../images/encoding/options.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import type { FileRecord, OutputRecord } from '../../operations/batch/batch-record.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import type { Recipe } from '../../operations/recipe/recipe.ts';
import { run } from '../../operations/recipe/run.ts';
import { chooseReport, type ReportChooser } from '../batch/image-choices.ts';
import { outputFlags } from '../batch/image-flags.ts';
import { runImageCommand } from '../batch/image-run.ts';
import { type CommandInput, type Flags, readFlags, usageFailure } from '../command/command.ts';
import { existsFailure, Writer } from '../files/writer.ts';
import { failuresReport } from '../reports/report.ts';
import { jsonText, print } from '../terminal/terminal.ts';
import { formatsOf, srcsetOptions, widthsOf } from './command-flags.ts';
import { tag, urlOf } from './html.ts';

/** The operation `run` with the recipe that the options stand for. */
function srcsetOperation(): Operation {
  const { document: _, ...base } = run;
  return {
    ...base,
    options: srcsetOptions,
    async prepare(options, { planOnly = false } = {}): Promise<Recipe> {
      const given = options as Flags;
      const encoding = Object.fromEntries(
        Object.keys(encodingFields).map((name) => [name, given[name]]),
      ) as Recipe['outputs'][number]['encoding'];
      const widths = widthsOf(String(given['widths']))!;
      const formats = formatsOf(String(given['formats']))!;
      const name = '{name}-{width}w.{ext}';
      return { steps: [], outputs: [{ name, steps: [], widths, formats, encoding }], planOnly };
    },
  } as Operation;
}

type SrcsetOptions = v.InferOutput<typeof srcsetOptions>;

/** Makes the files of responsive images, and prints or writes the markup that shows them. */
export async function runSrcset({ positionals, flags }: CommandInput): Promise<number> {
  const options = readFlags(srcsetOptions, flags);
  const { snippet, snippetOut } = options;
  const { out, zip, watch, overwrite } = readFlags(outputFlags, flags);
  if (watch && snippetOut !== undefined)
    throw usageFailure('--watch and --snippet-out exclude each other');
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
  const code = await runImageCommand(srcsetOperation(), files, flags, { reportOf });
  if (snippetOut !== undefined && made.length > 0) {
    const content = snippet === 'json' ? documentOf(made) : made.map(({ html }) => html).join('\n');
    const write = (descriptor: number) => void writeFileSync(descriptor, `${content}\n`);
    await new Writer({ overwrite }).write(snippetOut, write);
  }
  return code;
}

/** What a page needs to show an image. */
type MadeSnippet = NonNullable<ReturnType<typeof snippetOf>> & { readonly inputFilename: string };

function documentOf(made: readonly MadeSnippet[]): string {
  return `[${made.map(jsonText).join(',\n')}]`;
}

/**
 * The snippet of an image; null if it has no outputs, or they have no names yet.
 *
 * @param folder folder to which URLs are relative; undefined for outputs in an archive
 */
function snippetOf(
  { outputs = [] }: FileRecord,
  folder: string | undefined,
  { baseUrl = '', sizes, alt = '', loading }: SrcsetOptions,
) {
  const candidateOf = ({ outputFilename = '', width, height, size }: OutputRecord) => {
    const path = folder === undefined ? outputFilename : relative(folder, outputFilename);
    return { url: urlOf(baseUrl, path), width, height, size };
  };
  if (outputs.some(({ outputFilename }) => outputFilename === undefined)) return null;
  // By the order of the formats; the last is that of `img`.
  const sources = [...new Set(outputs.map(({ format }) => format))].map((format) => {
    const images = outputs.filter((output) => output.format === format).map(candidateOf);
    const sorted = images.sort((one, other) => one.width - other.width);
    const srcset = sorted.map(({ url, width }) => `${url} ${width}w`).join(', ');
    return { type: FORMATS[format as OutputFormat].mediaType, srcset, images: sorted };
  });
  const fallback = sources.at(-1);
  if (!fallback) return null;
  const { srcset } = fallback;
  const { url: src, width, height } = fallback.images.at(-1)!;
  // `sizes` comes before `srcset`, or some browsers begin with the candidate for 100vw.
  const attributes = { sizes, srcset, src, width, height, alt, loading, decoding: 'async' };
  const img = tag('img', attributes);
  const others = sources
    .slice(0, -1)
    .map((source) => tag('source', { type: source.type, sizes, srcset: source.srcset }));
  const lines = [...others, img].map((line) => `  ${line}`);
  const html = others.length === 0 ? img : ['<picture>', ...lines, '</picture>'].join('\n');
  return { html, sources, src, sizes, width, height, alt };
}
