import { extname, resolve } from 'node:path';
import type * as v from 'valibot';
import { groupBy } from '../../maps.ts';
import type { CodedMessage } from '../../operations/batch/batch-record.ts';
import { sizeOf } from '../../operations/pool/pool.ts';
import type { Comparison } from '../../operations/tools/compare.ts';
import { chooseReport } from '../batch/image-choices.ts';
import { outputFlags, readLimits, runFlags } from '../batch/image-flags.ts';
import { type Planned, plan, plannedInput } from '../batch/image-plan.ts';
import { runPlanned } from '../batch/planned-run.ts';
import { fileSink } from '../batch/sink.ts';
import { type CommandInput, flagOf, readFlags, usageFailure } from '../command/command.ts';
import { findInputs, type Input, statOf } from '../files/inputs.ts';
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

/** Compares images with their references. */
export async function runCompare({ positionals, flags }: CommandInput): Promise<number> {
  const [reference, files] = positionals as [string, readonly string[]];
  const own = readFlags(compareFlags, flags);
  const run = readFlags(runFlags, flags);
  const limits = readLimits(flags);
  const { recursive } = readFlags(recursiveFlags, flags);
  const pairs = isFolder(reference)
    ? await pairsOfFolders(reference, files, recursive)
    : await pairsOfFile(reference, files, limits.fileBytes);
  if (pairs.length === 0) {
    printStderr('oriel: no image was found');
    return 1;
  }
  const { resize, fullSize, minSsim, minPsnr, diff, overwrite } = own;
  const options = { resize, fullSize, minSsim, minPsnr, diff: diff !== undefined };
  const outputs = { ...readFlags(outputFlags, {}), overwrite };
  const operation = {
    name: 'compare',
    gives: 'data',
    cost: 100,
    columns: () => ['ssim', ...(checks(own).length > 0 ? ['check'] : []), 'psnr', 'differing'],
    row: (data: object) => rowOf(data as Comparison),
  } as const;
  let below = 0;
  const choices = { options, limits, run, outputs };
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
  const inputs = pairs.map(({ input }) => input);
  const names = diff === undefined ? null : diffNames(diff, inputs);
  const planned = planOf(pairs, names, choices, diff);
  const sink = names ? fileSink(names, new Writer({ overwrite }), outputs, null) : {};
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

const isFolder = (path: string) => statOf(path)?.isDirectory() ?? false;

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

/**
 * Pairs of the images in two folders with the same path below their folders, or with the same path but for the
 * extension.
 */
async function pairsOfFolders(
  reference: string,
  files: readonly string[],
  recursive: boolean,
): Promise<Pair[]> {
  const folder = files[0]!;
  if (files.length !== 1 || !isFolder(folder)) {
    throw usageFailure(`<files>: expected one folder, because ${reference} is a folder`);
  }
  if (!recursive) {
    throw usageFailure(`${reference} is a folder; --recursive compares the images in it`);
  }
  const [before, after] = await Promise.all([
    findInputs([reference], { recursive }),
    findInputs([folder], { recursive }),
  ]);
  const unpaired = new Set(before.filter(({ problem }) => !problem));
  const paths = new Map([...unpaired].map((input) => [input.relativePath, input]));
  const stems = groupBy(unpaired, stemOf);
  const exact = after.map(({ relativePath }) => paths.get(relativePath));
  for (const input of exact) if (input) unpaired.delete(input);
  const missing = (from: string): CodedMessage => ({
    code: 'not_found',
    message: `no image of this name is in ${from}`,
  });
  const pairs = after.map(({ problem, ...input }, index): Pair => {
    if (problem) return { input, problem };
    const alike = stems.get(stemOf(input)) ?? [];
    const left = alike.filter((one) => unpaired.has(one));
    // An image may have been made in several formats.
    const [only, another] = left.length > 0 ? left : alike;
    const found = exact[index] ?? (another ? undefined : only);
    if (!found) return { input, problem: missing(reference) };
    unpaired.delete(found);
    return { input, reference: found.filename };
  });
  const rest = before.filter((input) => unpaired.has(input) || input.problem);
  return [
    ...pairs,
    ...rest.map(({ problem, ...input }) => ({ input, problem: problem ?? missing(folder) })),
  ];
}

function stemOf({ relativePath }: Input): string {
  return relativePath.slice(0, relativePath.length - extname(relativePath).length);
}

/** Assigns a path to each image of differences, if they are wanted. @param names null if they are not */
function planOf(
  pairs: readonly Pair[],
  names: OutputNames | null,
  choices: Omit<Parameters<typeof plan>[2], 'options'>,
  diff: string | undefined,
): Planned[] {
  const references = new Set(pairs.map(({ reference }) => reference && resolve(reference)));
  const compared = pairs.filter(({ problem }) => !problem).map(({ input }) => input);
  const format = 'png';
  const plans = plan(compared, names, { ...choices, options: { format } }, {}, null);
  const planOfInput = new Map(plans.map((planned) => [planned.input, planned]));
  return pairs.map(({ input, reference, problem }, index): Planned => {
    if (problem) {
      const originalSize = sizeOf(input.source);
      return plannedInput(input, { status: 'failed', originalSize, error: problem });
    }
    const path = names?.predict(input, index, { format });
    if (path && references.has(resolve(path))) {
      throw usageFailure(`--diff ${diff}: ${path} is a reference, which would be replaced`);
    }
    return { ...planOfInput.get(input)!, options: { reference } };
  });
}

function diffNames(diff: string, inputs: readonly Input[]): OutputNames {
  const extension = extname(diff).toLowerCase();
  const isPng = extension === '.png';
  const isOne = inputs.length === 1;
  const isFit = isOne
    ? isPng || extension === '' || /[/\\]$/.test(diff) || isFolder(diff)
    : !isPng || isFolder(diff);
  if (!isFit) {
    const expected = isOne ? 'a file ending in .png, or a folder' : 'a folder for several images';
    throw usageFailure(`--diff: expected ${expected}, received ${diff}`);
  }
  const isUnique = new Set(inputs.map(stemOf)).size === inputs.length;
  return new OutputNames({ out: diff, ...(!isUnique && { name: '{name}-{index}.{ext}' }) }, inputs);
}
