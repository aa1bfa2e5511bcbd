import { statSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import type * as v from 'valibot';
import type { CodedMessage, FileRecord } from '../../operations/batch/batch-record.ts';
import { PRESETS } from '../../operations/recipe/recipe.ts';
import { findOperation } from '../../operations/registry.ts';
import type { Inspection } from '../../operations/tools/inspect.ts';
import { readLimits, runFlags } from '../batch/image-flags.ts';
import { type Planned, plannedInput } from '../batch/image-plan.ts';
import { runImageCommand } from '../batch/image-run.ts';
import { runPlanned } from '../batch/planned-run.ts';
import {
  type CommandInput,
  type Flags,
  flagOf,
  readFlags,
  usageFailure,
} from '../command/command.ts';
import { findInputs, type Input, isInside } from '../files/inputs.ts';
import { readText } from '../files/text-argument.ts';
import { onInterrupt } from '../terminal/exit.ts';
import { shellWord } from '../terminal/terminal.ts';
import { type ChangedFiles, findChangedFiles } from './changed-files.ts';
import { checkFlags, reportFlags } from './check-flags.ts';
import { report } from './check-reports.ts';
import { asPath, type Checked, fixOf, repair } from './repairs.ts';
import { type Finding, findingsOf, type Rules, readRules } from './rules.ts';

const findingOf = ({ code, message }: CodedMessage): Finding => ({ rule: code, message });

/** What a run of the check needs throughout. */
interface Context {
  readonly rules: Rules;
  /** The files and folders to check. */
  readonly paths: readonly string[];
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
  const paths = (given as readonly string[]).length > 0 ? (given as readonly string[]) : listed;
  const limits = readLimits({ ...flags, maxPixels: Math.max(50, rules.maxPixels ?? 0) });
  const run = readFlags(runFlags, { quiet: true, jobs: flags['jobs'] });
  const changed = options.base === undefined ? undefined : findChangedFiles(options.base);
  // Ends the process by exit, which removes the former versions.
  const removeHandlers = onInterrupt(async () => {});
  const context: Context = { rules, paths, reports, flags, changed, choices: { limits, run } };
  try {
    const found = await findInputs(paths, { recursive: true, strict: true });
    const inputs = found.filter(
      ({ filename, relativePath }) =>
        !relativePath.split(sep).includes('node_modules') &&
        (changed?.files.has(resolve(filename)) ?? true),
    );
    const checked = await inspectAll(inputs, context);
    const known = new Set(checked.flatMap(({ file, findings: [any] }) => (any ? [file] : [])));
    const outdated = await checkRecipe(context, false);
    checked.push(...outdated.filter(({ file, recipe }) => recipe || !known.has(file)));
    if (options.fix) await fixAll(inputs, checked, context);
    return (await report(checked, reports)) ? 1 : 0;
  } finally {
    removeHandlers();
    changed?.remove();
  }
}

/** Inspects files, and finds what violates the rules. */
async function inspectAll(inputs: readonly Input[], context: Context): Promise<Checked[]> {
  const { rules, reports, changed, choices } = context;
  const { forbid, minSsim } = rules;
  const savings = reports.markdown !== undefined && reports.savings;
  const references = inputs.map((input) => referenceOf(input, changed));
  const planned = inputs.map((input, index): Planned => {
    const reference = minSsim === undefined ? undefined : references[index]?.path;
    return { ...plannedInput(input), ...(reference !== undefined && { options: { reference } }) };
  });
  const checked: Checked[] = [];
  const add = async (record: FileRecord) => {
    const { inputFilename: file, originalSize: size, error } = record;
    if (error) return void checked.push({ file, size, findings: [findingOf(error)] });
    const facts = record.data as Inspection;
    const { format, width, height, optimized } = facts;
    const reference = references[record.index];
    const findings = findingsOf(file, size, facts, rules);
    const fix = findings.length > 0 ? fixOf(file, facts, rules, findings, reference?.path) : null;
    checked.push({
      ...{ file, size, format, width, height, findings },
      ...(reference && { before: reference.size }),
      ...(optimized !== undefined && { optimized: Math.min(size, optimized) }),
      ...(fix && { fix, command: repairCommand([file], context) }),
    });
  };
  const cost = savings ? 1500 : minSsim ? 100 : 0.1;
  const operation = { name: 'inspect', gives: 'data', cost } as const;
  const all = { ...choices, options: { forbid, savings } };
  await runPlanned(operation, planned, {}, all, () => ({ add, finish: async () => {} }), null);
  return checked;
}

/** The former version of a file; undefined if there is none. */
function referenceOf({ filename }: Input, changed: ChangedFiles | undefined) {
  const path = changed?.files.get(resolve(filename));
  return path === undefined ? undefined : { path, size: statSync(path).size };
}

/** The command line that repairs files: this one with --fix, and without reports. */
function repairCommand(paths: readonly string[], { flags, rules }: Context): string {
  // Other clones may not have the base.
  const needsBase = rules.minSsim !== undefined;
  const others = [...Object.keys(reportFlags.entries), 'fix', needsBase ? '' : 'base'];
  const kept = Object.entries(flags).filter(([name]) => !others.includes(name));
  const words = kept.flatMap(([name, value]) => [flagOf(name), String(value)]);
  return ['oriel', 'check', '--fix', ...words, ...paths.map(asPath)].map(shellWord).join(' ');
}

/** Repairs the files that can be, and inspects them again. */
async function fixAll(
  inputs: readonly Input[],
  checked: readonly Checked[],
  context: Context,
): Promise<void> {
  const broken = checked.filter(({ fix }) => fix);
  await repair(broken, sharedFlags(context));
  const inputOf = new Map(inputs.map((input) => [input.filename, input]));
  const repaired = broken.filter(({ failure }) => failure === undefined);
  const sources = repaired.map(({ file, fix }) => {
    const { path } = fix!;
    return { ...inputOf.get(file)!, filename: path, source: { path } };
  });
  const again = await inspectAll(sources, context);
  for (const [index, one] of repaired.entries()) {
    const { findings } = again[index]!;
    if (findings.length === 0) one.fixed = true;
    else one.failure = `it still violates ${findings.map(({ rule }) => rule).join(', ')}`;
  }
  const outdated = checked.filter(({ recipe }) => recipe);
  if (outdated.length === 0) return;
  await checkRecipe(context, true);
  const left = new Set((await checkRecipe(context, false)).map(({ file }) => file));
  for (const one of outdated) one.fixed = !left.has(one.file);
}

/** Flags of every image command that is run. */
function sharedFlags({ flags: { maxFileSize, timeout, jobs }, choices }: Context): Flags {
  return { maxFileSize, timeout, jobs, maxPixels: choices.limits.pixels / 1e6, quiet: true };
}

/** Compares the outputs of a recipe with those that it would make, or makes them. */
async function checkRecipe(context: Context, overwrite: boolean): Promise<Checked[]> {
  const { rules, paths, changed } = context;
  const { recipe, sources, out } = rules;
  if (recipe === undefined) return [];
  const isFile = !PRESETS.some((preset) => preset === recipe);
  // A changed recipe or output may concern any source.
  const moved = [...(changed?.files.keys() ?? []), ...(changed?.deleted ?? [])];
  const isAny = (path: string) =>
    (isFile && path === resolve(recipe)) || (out !== undefined && isInside(resolve(out), path));
  const isAll = changed === undefined || moved.some(isAny);
  const checked: Checked[] = [];
  const command = repairCommand(paths, context);
  const add = async (record: FileRecord) => {
    const { inputFilename: file, originalSize: size, outputs = [], error } = record;
    const wrong = outputs.filter(({ reason }) => reason && reason.code !== 'unchanged');
    const findings = wrong.map(({ outputFilename, reason }) => {
      return { rule: reason!.code, message: `${outputFilename}: ${reason!.message}` };
    });
    if (wrong.length > 0) checked.push({ file, size, findings, command, recipe: true });
    else if (error) checked.push({ file, size, findings: [findingOf(error)] });
  };
  const flags = {
    ...{ ...sharedFlags(context), out, overwrite, check: !overwrite, recursive: true },
    recipe: isFile ? readText(recipe, PRESETS) : recipe,
  };
  await runImageCommand(findOperation('run')!, sources === undefined ? paths : [sources], flags, {
    origin: recipe,
    accepts: ({ filename }) => isAll || changed.files.has(resolve(filename)),
    reportOf: () => ({ add, finish: async () => {} }),
  });
  return checked;
}
