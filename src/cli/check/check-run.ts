import { statSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import type * as v from 'valibot';
import type { CodedMessage, FileRecord } from '../../operations/batch/batch-record.ts';
import { PRESETS } from '../../operations/recipe/recipe.ts';
import { findOperation } from '../../operations/registry.ts';
import type { Inspection } from '../../operations/tools/inspect.ts';
import { readLimits, runFlags } from '../batch/image-flags.ts';
import { type Planned, plannedInput } from '../batch/image-plan.ts';
import { runImageCommand } from '../batch/image-run.ts';
import { runPlanned } from '../batch/planned-run.ts';
import { type CommandInput, type Flags, readFlags, usageFailure } from '../command/command.ts';
import { findInputs, type Input, isInside } from '../files/inputs.ts';
import { readText } from '../files/text-argument.ts';
import { onInterrupt } from '../terminal/exit.ts';
import { type ChangedFiles, findChangedFiles } from './changed-files.ts';
import { checkFlags, reportFlags } from './check-flags.ts';
import { report } from './check-reports.ts';
import { asPath, type Checked, commandLine, commandOf, fixOf, repair } from './repairs.ts';
import { type Finding, findingsOf, forbidden, type Rules, readRules } from './rules.ts';

const findingOf = ({ code, message }: CodedMessage): Finding => ({ rule: code, message });

const isFound = ({ findings }: Checked) => findings.length > 0;

/** What a run of the check needs throughout. */
interface Context {
  readonly rules: Rules;
  readonly reports: v.InferOutput<typeof reportFlags>;
  readonly flags: Flags;
  readonly changed: ChangedFiles | undefined;
  readonly choices: Pick<Parameters<typeof runPlanned>[3], 'limits' | 'run'>;
}

/** Checks images against rules. */
export async function runCheck({ positionals: [given], flags }: CommandInput): Promise<number> {
  const options = readFlags(checkFlags, flags);
  const reports = readFlags(reportFlags, flags);
  const { json, junit, sarif, markdown } = reports;
  if ([json ? '-' : '', junit, sarif, markdown].filter((path) => path === '-').length > 1)
    throw usageFailure('standard output: expected one report, received several');
  const [rules, listed] = readRules(flags, options.rules);
  const files = (given as readonly string[]).length > 0 ? (given as readonly string[]) : listed;
  const limits = readLimits({ ...flags, maxPixels: Math.max(50, rules.maxPixels ?? 0) });
  const run = readFlags(runFlags, { quiet: true, jobs: flags['jobs'] });
  const changed = options.base === undefined ? undefined : findChangedFiles(options.base);
  // Ends the process by exit, which removes the former versions.
  const removeHandlers = onInterrupt(async () => {});
  const context: Context = { rules, reports, flags, changed, choices: { limits, run } };
  try {
    const found = await findInputs(files, { recursive: true, strict: true });
    const inputs = found.filter(
      ({ filename, relativePath }) =>
        !relativePath.split(sep).includes('node_modules') &&
        (changed?.files.has(resolve(filename)) ?? true),
    );
    const checked = await inspectAll(inputs, context);
    const known = new Set(checked.filter(isFound).map(({ file }) => file));
    const outdated = await checkRecipe(files, context, false);
    checked.push(...outdated.filter(({ file, recipe }) => recipe || !known.has(file)));
    if (options.fix) await fixAll(inputs, files, checked, context);
    const open = checked.reduce(
      (sum, { fixed, findings }) => sum + (fixed ? 0 : findings.length),
      0,
    );
    await report(checked, reports, open);
    return open > 0 ? 1 : 0;
  } finally {
    removeHandlers();
    changed?.remove();
  }
}

/** Inspects files, and finds what violates the rules. */
async function inspectAll(inputs: readonly Input[], context: Context): Promise<Checked[]> {
  const { rules, reports, changed, choices } = context;
  const savings = reports.markdown !== undefined && reports.savings;
  const references = inputs.map((input) => referenceOf(input, rules, changed));
  const planned = inputs.map((input, index): Planned => {
    const reference = rules.minSsim === undefined ? undefined : references[index]?.path;
    return { ...plannedInput(input), ...(reference !== undefined && { options: { reference } }) };
  });
  const checked: Checked[] = [];
  const add = async ({
    index,
    inputFilename: file,
    originalSize: size,
    data,
    error,
  }: FileRecord) => {
    if (error) return void checked.push({ file, size, findings: [findingOf(error)] });
    const facts = data as Inspection;
    const { format, width, height, optimized } = facts;
    const reference = references[index];
    const findings = findingsOf(file, size, facts, rules);
    const fix = findings.length > 0 ? fixOf(file, facts, rules, findings, reference?.path) : null;
    const formerName = rules.against === undefined && changed?.nameOf(resolve(file));
    checked.push({
      ...{ file, size, format, width, height, findings },
      ...(reference && { before: reference.size }),
      ...(optimized !== undefined && { optimized: Math.min(size, optimized) }),
      ...(fix && { fix, command: commandOf(file, fix, rules, formerName || undefined) }),
    });
  };
  const operation = {
    name: 'inspect',
    gives: 'data',
    cost: savings ? 1500 : rules.minSsim ? 100 : 0.1,
  } as const;
  const all = { ...choices, options: { forbid: forbidden(rules), savings } };
  await runPlanned(operation, planned, {}, all, () => ({ add, finish: async () => {} }), null);
  return checked;
}

/** The former version of a file; undefined if there is none. */
function referenceOf(input: Input, { against }: Rules, changed: ChangedFiles | undefined) {
  const path =
    against === undefined
      ? changed?.files.get(resolve(input.filename))
      : join(against, input.relativePath);
  const stat = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  return path !== undefined && stat?.isFile() ? { path, size: stat.size } : undefined;
}

/** Repairs the files that can be, and inspects them again. */
async function fixAll(
  inputs: readonly Input[],
  files: readonly string[],
  checked: readonly Checked[],
  context: Context,
): Promise<void> {
  const broken = checked.filter(({ fix }) => fix);
  await repair(broken, sharedFlags(context));
  const inputOf = new Map(inputs.map((input) => [input.filename, input]));
  const repaired = broken.filter(({ failure }) => failure === undefined);
  const sources = repaired.map(({ file, fix: { path } = { path: file } }) => ({
    ...inputOf.get(file)!,
    ...{ filename: path, source: { path } },
  }));
  const again = await inspectAll(sources, context);
  for (const [index, one] of repaired.entries()) {
    const { findings } = again[index]!;
    if (findings.length === 0) one.fixed = true;
    else one.failure = `it still violates ${findings.map(({ rule }) => rule).join(', ')}`;
  }
  const outdated = checked.filter(({ recipe }) => recipe);
  if (outdated.length > 0) await checkRecipe(files, context, true);
  const left = outdated.length > 0 ? await checkRecipe(files, context, false) : [];
  for (const one of outdated) one.fixed = !left.some(({ file }) => file === one.file);
}

/** Flags of every image command that is run. */
function sharedFlags({ flags: { maxFileSize, timeout, jobs }, choices }: Context): Flags {
  return { maxFileSize, timeout, jobs, maxPixels: choices.limits.pixels / 1e6, quiet: true };
}

/** Compares the outputs of a recipe with those that it would make, or makes them. */
async function checkRecipe(
  files: readonly string[],
  context: Context,
  write: boolean,
): Promise<Checked[]> {
  const { rules, changed } = context;
  const { recipe, sources, out } = rules;
  if (recipe === undefined) return [];
  const given = sources === undefined ? files : [sources];
  const isFile = !PRESETS.some((preset) => preset === recipe);
  // A changed recipe or output may concern any source.
  const moved = [...(changed?.files.keys() ?? []), ...(changed?.deleted ?? [])];
  const isAny = (path: string) =>
    (isFile && path === resolve(recipe)) || (out !== undefined && isInside(resolve(out), path));
  const isAll = changed === undefined || moved.some(isAny);
  const checked: Checked[] = [];
  const target = out === undefined ? [] : ['--out', asPath(out)];
  const words = ['run', asPath(recipe), '--recursive', '--overwrite', ...target];
  const command = commandLine([...words, ...given.map(asPath)]);
  const add = async (record: FileRecord) => {
    const { inputFilename: file, originalSize: size, outputs = [], error } = record;
    const wrong = outputs.filter(({ reason }) => reason && reason.code !== 'unchanged');
    const findings = wrong.map(({ outputFilename, reason }) => {
      return { rule: reason!.code, message: `${outputFilename}: ${reason!.message}` };
    });
    if (wrong.length > 0) checked.push({ file, size, findings, command, recipe: true });
    else if (error) checked.push({ file, size, findings: [findingOf(error)] });
  };
  const text = isFile ? readText(recipe, PRESETS) : recipe;
  const mode = write ? { overwrite: true } : { check: true };
  await runImageCommand(
    findOperation('run')!,
    given,
    { ...sharedFlags(context), ...mode, recipe: text, recursive: true, out },
    {
      origin: recipe,
      accepts: ({ filename }) => isAll || changed.files.has(resolve(filename)),
      reportOf: () => ({ add, finish: async () => {} }),
    },
  );
  return checked;
}
