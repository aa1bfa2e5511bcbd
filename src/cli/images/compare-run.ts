import { statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import type * as v from 'valibot';
import type { CodedMessage } from '../../operations/batch/batch-record.ts';
import { sizeOf } from '../../operations/pool/pool.ts';
import type { Comparison } from '../../operations/tools/compare.ts';
import { limitFlags, limitsOf, outputFlags, runFlags } from '../batch/image-flags.ts';
import { type Planned, plan } from '../batch/image-plan.ts';
import { runPlanned } from '../batch/planned-run.ts';
import { chooseReport } from '../batch/report-choice.ts';
import { fileSink, type OutputSink } from '../batch/sink.ts';
import { usageFailure } from '../command/command.ts';
import { flagOf, readFlags } from '../command/flags.ts';
import { findInputs, type Input } from '../files/inputs.ts';
import { OutputNames } from '../files/naming.ts';
import { Writer } from '../files/writer.ts';
import { annotate } from '../reports/annotations.ts';
import type { Head, Report } from '../reports/report.ts';
import { printStderr } from '../terminal/terminal.ts';
import { compareFlags, recursiveFlags } from './command-flags.ts';

type CompareFlags = v.InferOutput<typeof compareFlags>;

/** An image and the path of its reference, or the reason why it has none. */
interface Pair {
  readonly input: Input;
  readonly reference?: string;
  readonly problem?: CodedMessage;
}

/**
 * Compares images with their references.
 *
 * @returns the exit code
 * @throws Failure with code `usage` or with a `param`, before any work was done
 */
export async function runCompare(
  reference: string,
  files: readonly string[],
  flags: Readonly<Record<string, unknown>>,
): Promise<number> {
  const own = readFlags(compareFlags, flags);
  const run = readFlags(runFlags, flags);
  const limits = limitsOf(readFlags(limitFlags, flags));
  const { recursive } = readFlags(recursiveFlags, flags);
  const pairs = isFolder(reference)
    ? await pairsOfFolders(reference, files, recursive)
    : await pairsOfFile(reference, files, limits.fileBytes);
  if (pairs.length === 0) {
    printStderr('oriel: no image was found');
    return 1;
  }
  const { planned, sink } = planOf(pairs, own);
  const { resize, fullSize, minSsim, minPsnr, diff } = own;
  const options = { resize, fullSize, minSsim, minPsnr, diff: diff !== undefined };
  const operation = {
    name: 'compare',
    gives: 'data',
    cost: 100,
    columns: () => ['ssim', ...(checks(own).length > 0 ? ['check'] : []), 'psnr', 'differing'],
    row: (data: object) => rowOf(data as Comparison),
  } as const;
  let below = 0;
  const choices = { options, limits, run, outputs: readFlags(outputFlags, {}) };
  const reportFor = (head: Head): Report => {
    const report = chooseReport(operation, choices, head);
    return {
      ...report,
      add(record) {
        const compared = record.data as Comparison | undefined;
        if (compared?.passed === false) {
          below += 1;
          if (run.annotate) annotateBelow(record.inputFilename, compared);
        }
        return report.add(record);
      },
    };
  };
  const code = await runPlanned(operation, planned, sink, choices, reportFor, null);
  if (below === 0) return code;
  const minima = checks(own).map(([name, minimum]) => `${flagOf(name)} ${minimum}`);
  printStderr(`oriel: ${below} of ${pairs.length} below ${minima.join(' or ')}`);
  return 1;
}

function annotateBelow(file: string, { reference, ssim, psnr }: Comparison): void {
  const message = `SSIM ${ssim}, PSNR ${psnr} dB to ${reference}`;
  annotate({ level: 'error', file, title: 'below the minimum', message });
}

/** The minima that were given. */
function checks({ minSsim, minPsnr }: CompareFlags): [name: string, minimum: number][] {
  const all = Object.entries({ minSsim, minPsnr });
  return all.filter((entry): entry is [string, number] => entry[1] !== undefined);
}

function rowOf({ ssim, psnr, differing, passed }: Comparison): Record<string, string> {
  const percent = differing * 100;
  return {
    ssim: ssim.toFixed(6),
    psnr: psnr === null ? 'equal' : `${psnr.toFixed(2)} dB`,
    differing: percent > 0 && percent < 0.01 ? '< 0.01 %' : `${percent.toFixed(2)} %`,
    check: passed ? 'passed' : 'below',
  };
}

function isFolder(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch {
    return false;
  }
}

/** One reference for all files. */
async function pairsOfFile(
  reference: string,
  files: readonly string[],
  fileBytes: number,
): Promise<Pair[]> {
  if (reference === '-') {
    throw usageFailure('<reference>: expected a file or a folder, received standard input');
  }
  const inputs = await findInputs(files, { fileBytes });
  return inputs.map(({ problem, ...input }) =>
    problem ? { input, problem } : { input, reference },
  );
}

async function pairsOfFolders(
  reference: string,
  files: readonly string[],
  recursive: boolean,
): Promise<Pair[]> {
  const [folder] = files;
  if (files.length !== 1 || !isFolder(folder!)) {
    throw usageFailure(`<files>: expected one folder, because ${reference} is a folder`);
  }
  if (!recursive) {
    throw usageFailure(`${reference} is a folder; --recursive compares the images in it`);
  }
  const [before, after] = await Promise.all(
    [reference, folder!].map((path) => findInputs([path], { recursive })),
  );
  return pairsOf(before!, after!, { reference, folder: folder! });
}

/** Pairs of inputs with the same path below their folders, or with the same path but for the extension. */
function pairsOf(
  before: readonly Input[],
  after: readonly Input[],
  names: { readonly reference: string; readonly folder: string },
): Pair[] {
  const paths = new Map(before.map((input) => [input.relativePath, input]));
  const unpaired = new Set(before.filter(({ problem }) => !problem));
  const claim = (input: Input | undefined): Input | undefined =>
    input && unpaired.delete(input) ? input : undefined;
  const exact = new Map(after.map((input) => [input, claim(paths.get(input.relativePath))]));
  const stems = new Map<string, Input[]>();
  for (const input of unpaired) {
    const stem = stemOf(input);
    stems.set(stem, [...(stems.get(stem) ?? []), input]);
  }
  const missing = (folder: string): CodedMessage => ({
    code: 'not_found',
    message: `no image of this name is in ${folder}`,
  });
  const pairs = after.map(({ problem, ...input }, index): Pair => {
    if (problem) return { input, problem };
    const alike = stems.get(stemOf(input)) ?? [];
    const found = exact.get(after[index]!) ?? (alike.length === 1 ? claim(alike[0]) : undefined);
    return found
      ? { input, reference: found.filename }
      : { input, problem: missing(names.reference) };
  });
  const rest = before.filter((input) => unpaired.has(input) || input.problem);
  return [
    ...pairs,
    ...rest.map(({ problem, ...input }) => ({ input, problem: problem ?? missing(names.folder) })),
  ];
}

function stemOf({ relativePath }: Input): string {
  return relativePath.slice(0, relativePath.length - extname(relativePath).length);
}

/** Assigns a path to each image of differences, where they are wanted. */
function planOf(
  pairs: readonly Pair[],
  { diff, overwrite }: CompareFlags,
): { readonly planned: readonly Planned[]; readonly sink: OutputSink } {
  const inputs = pairs.map(({ input }) => input);
  const names = diff === undefined ? null : diffNames(diff, inputs);
  const outputs = { ...readFlags(outputFlags, {}), overwrite };
  const run = readFlags(runFlags, {});
  const references = new Set(pairs.map(({ reference }) => reference && resolve(reference)));
  const compared = pairs.filter(({ problem }) => !problem).map(({ input }) => input);
  const plans = plan(compared, names, { options: { format: 'png' }, outputs, run }, {}, null);
  const planOfInput = new Map(plans.map((planned) => [planned.input, planned]));
  const planned = pairs.map(({ input, reference, problem }, index): Planned => {
    const { filename, source } = input;
    if (problem) {
      const knownRecord = {
        status: 'failed',
        originalSize: sizeOf(source),
        error: problem,
      } as const;
      return { input, filename, source, knownRecord };
    }
    const path = names?.predict(input, index, { format: 'png' });
    if (path && references.has(resolve(path))) {
      throw usageFailure(`--diff ${diff}: ${path} is a reference, which would be replaced`);
    }
    return { ...planOfInput.get(input)!, options: { reference } };
  });
  const writer = new Writer({ overwrite });
  const sink = names && fileSink(names, writer, outputs, null);
  return { planned, sink: sink ?? {} };
}

function diffNames(diff: string, inputs: readonly Input[]): OutputNames {
  const extension = extname(diff).toLowerCase();
  if (
    inputs.length > 1 ? extension === '.png' && !isFolder(diff) : !isPngOrFolder(diff, extension)
  ) {
    const expected =
      inputs.length > 1 ? 'a folder for several images' : 'a file ending in .png, or a folder';
    throw usageFailure(`--diff: expected ${expected}, received ${diff}`);
  }
  return new OutputNames({ out: diff }, inputs);
}

function isPngOrFolder(diff: string, extension: string): boolean {
  return extension === '.png' || extension === '' || /[/\\]$/.test(diff) || isFolder(diff);
}
