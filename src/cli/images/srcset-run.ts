import { existsSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { encodingFields } from '../../images/encoding/options.ts';
import { FORMATS, type OutputFormat } from '../../images/formats.ts';
import type { FileRecord } from '../../operations/batch/batch-record.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import type { Recipe } from '../../operations/recipe/recipe.ts';
import { run } from '../../operations/recipe/run.ts';
import { outputFlags } from '../batch/image-flags.ts';
import { runImageCommand } from '../batch/image-run.ts';
import { chooseReport, type ReportChooser } from '../batch/report-choice.ts';
import { usageFailure } from '../command/command.ts';
import { readFlags } from '../command/flags.ts';
import { existsFailure, Writer } from '../files/writer.ts';
import { failuresReport, type Report } from '../reports/report.ts';
import { jsonText, print } from '../terminal/terminal.ts';
import { tag, urlOf } from './html.ts';
import { formatsOf, srcsetOptions, widthsOf } from './srcset-options.ts';

/** The operation `run` with the recipe that the options stand for. */
function srcsetOperation(): Operation {
  const { document: _, ...base } = run;
  return {
    ...base,
    options: srcsetOptions,
    async prepare(options, { planOnly = false } = {}): Promise<Recipe> {
      const given = options as Readonly<Record<string, unknown>>;
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

/**
 * Makes the files of responsive images, and prints or writes the markup that shows them.
 *
 * @returns the exit code
 * @throws Failure with code `usage` or with a `param`, before any work was done
 */
export async function runSrcset(
  files: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const {
    snippet,
    snippetOut,
    baseUrl = '',
    sizes,
    alt = '',
    loading,
  } = readFlags(srcsetOptions, flags);
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
  const options = { folder, baseUrl, sizes, alt, loading };
  const made: { readonly file: string; readonly snippet: Snippet }[] = [];
  const reportOf: ReportChooser = (operation, choices, head) => {
    const { json, jsonl, dryRun } = choices.run;
    const makes = !dryRun && !choices.outputs.check;
    const printed = makes && snippet !== 'none' && snippetOut === undefined && !json && !jsonl;
    const own = { ...head, operation: 'srcset' };
    const report = printed ? failuresReport() : chooseReport(operation, choices, own);
    return withSnippets(report, {
      describe: (record) => (makes ? snippetOf(record, options) : null),
      async add(file, one) {
        made.push({ file, snippet: one });
        if (printed && snippet === 'html') await print(`${one.html}\n`);
      },
      async finish() {
        if (printed && snippet === 'json') await print(`${document(made)}\n`);
      },
    });
  };
  const code = await runImageCommand(srcsetOperation(), files, flags, { reportOf });
  if (snippetOut !== undefined && made.length > 0) {
    const content =
      snippet === 'json' ? document(made) : made.map((one) => one.snippet.html).join('\n');
    await new Writer({ overwrite }).write(snippetOut, (descriptor) => {
      writeFileSync(descriptor, `${content}\n`);
      return undefined;
    });
  }
  return code;
}

function document(made: readonly { readonly file: string; readonly snippet: Snippet }[]): string {
  return `[${made.map(({ file, snippet }) => jsonText({ inputFilename: file, ...snippet })).join(',\n')}]`;
}

interface Snippets {
  describe(record: FileRecord): Snippet | null;
  add(file: string, snippet: Snippet): Promise<void>;
  finish(): Promise<void>;
}

/** A report whose records have their snippets as data. */
function withSnippets(report: Report, { describe, add, finish }: Snippets): Report {
  const described = (record: FileRecord, snippet = describe(record)): FileRecord =>
    snippet ? { ...record, data: { ...record.data, ...snippet } } : record;
  const { finished } = report;
  return {
    ...report,
    ...(finished && { finished: (record: FileRecord) => finished(described(record)) }),
    async add(record) {
      const snippet = describe(record);
      if (snippet) await add(record.inputFilename, snippet);
      await report.add(described(record, snippet));
    },
    async finish(status, totals) {
      await finish();
      await report.finish(status, totals);
    },
  };
}

export interface SnippetOptions {
  /** Folder to which URLs are relative; undefined where outputs are in an archive. */
  readonly folder: string | undefined;
  readonly baseUrl: string;
  readonly sizes: string;
  readonly alt: string;
  readonly loading: 'lazy' | 'eager';
}

/** One output of an image. */
interface Candidate {
  readonly url: string;
  readonly width: number;
  readonly height: number;
  /** Bytes. */
  readonly size: number;
}

/** The outputs of one format. */
interface SourceSet {
  readonly type: string;
  readonly srcset: string;
  readonly images: readonly Candidate[];
}

/** What a page needs to show an image. */
export interface Snippet {
  readonly html: string;
  /** By the order of the formats; the last is that of `img`. */
  readonly sources: readonly SourceSet[];
  /** The largest image of the last format. */
  readonly src: string;
  readonly sizes: string;
  readonly width: number;
  readonly height: number;
  readonly alt: string;
}

/** The snippet of an image; null where it has no outputs, or they have no names yet. */
function snippetOf({ outputs = [] }: FileRecord, options: SnippetOptions): Snippet | null {
  const { folder, baseUrl, sizes, alt, loading } = options;
  const byFormat = new Map<string, Candidate[]>();
  for (const { outputFilename, format, width, height, size } of outputs) {
    if (outputFilename === undefined) return null;
    const path = folder === undefined ? outputFilename : relative(folder, outputFilename);
    const candidate = { url: urlOf(baseUrl, path), width, height, size };
    byFormat.set(format, [...(byFormat.get(format) ?? []), candidate]);
  }
  const sources = [...byFormat].map(([format, images]): SourceSet => {
    const sorted = images.sort((one, other) => one.width - other.width);
    const srcset = sorted.map(({ url, width }) => `${url} ${width}w`).join(', ');
    return { type: FORMATS[format as OutputFormat].mediaType, srcset, images: sorted };
  });
  const fallback = sources.at(-1);
  if (!fallback) return null;
  const { url: src, width, height } = fallback.images.at(-1)!;
  const img = tag('img', {
    // Before `srcset`, or some browsers begin with the candidate for 100vw.
    sizes,
    srcset: fallback.srcset,
    src,
    width,
    height,
    alt,
    loading,
    decoding: 'async',
  });
  const others = sources
    .slice(0, -1)
    .map(({ type, srcset }) => tag('source', { type, sizes, srcset }));
  const html =
    others.length === 0
      ? img
      : ['<picture>', ...[...others, img].map((line) => `  ${line}`), '</picture>'].join('\n');
  return { html, sources, src, sizes, width, height, alt };
}
