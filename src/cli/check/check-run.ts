import { linkSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import type * as v from 'valibot';
import type { FileRecord } from '../../operations/batch/batch-record.ts';
import { printable } from '../../operations/batch/filename.ts';
import type { Operation } from '../../operations/definition/operation.ts';
import { PRESETS } from '../../operations/recipe/recipe.ts';
import { run as recipeOperation } from '../../operations/recipe/run.ts';
import { findOperation } from '../../operations/registry.ts';
import type { Inspection } from '../../operations/tools/inspect.ts';
import { parseFields } from '../../schema/fields.ts';
import { readLimits, runFlags } from '../batch/image-flags.ts';
import { type Planned, plannedInput } from '../batch/image-plan.ts';
import { runImageCommand } from '../batch/image-run.ts';
import { runPlanned } from '../batch/planned-run.ts';
import type { OutputSink } from '../batch/sink.ts';
import {
  type CommandInput,
  type Flags,
  flagOf,
  readFlags,
  usageFailure,
} from '../command/command.ts';
import { findInputs, type Input, isInside } from '../files/inputs.ts';
import { readText } from '../files/text-argument.ts';
import { Writer } from '../files/writer.ts';
import { onInterrupt } from '../terminal/exit.ts';
import { type ChangedFiles, findChangedFiles } from './changed-files.ts';
import { checkFlags, reportFlags } from './check-flags.ts';
import { type Checked, report } from './check-reports.ts';
import { type Fix, findingsOf, fixOf, forbidden, type Rules, readRules } from './rules.ts';

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
    await checkRecipe(files, context, checked, false);
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
    if (error) {
      checked.push({ file, size, findings: [{ rule: error.code, message: error.message }] });
      return;
    }
    const facts = data as Inspection;
    const { format, width, height, optimized } = facts;
    const findings = findingsOf(file, size, facts, rules);
    const fix = findings.length > 0 ? fixOf(file, facts, rules, findings) : null;
    const reference = references[index];
    checked.push({
      ...{ file, size, format, width, height, findings },
      ...(reference && { before: reference.size }),
      ...(optimized !== undefined && { optimized: Math.min(size, optimized) }),
      ...(fix && { fix, command: commandOf(file, fix, context, reference) }),
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

/** A former version of a file. */
type Reference = ReturnType<typeof referenceOf>;

function referenceOf(input: Input, { against }: Rules, changed: ChangedFiles | undefined) {
  const path =
    against === undefined
      ? changed?.files.get(resolve(input.filename))
      : join(against, input.relativePath);
  const stat = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false });
  return path !== undefined && stat?.isFile() ? { path, size: stat.size } : undefined;
}

/**
 * A word of a shell's command line. Bash, zsh and ksh read `$'…'`, which control characters need. GitHub Actions would
 * read `##[` as a command.
 */
function quoted(word: string): string {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  const escaped = printable(word.replaceAll('\\', '\\\\')).replaceAll("'", "\\'");
  if (printable(word) !== word) return `$'${escaped.replaceAll('##[', '#\\x23[')}'`;
  return `'${word.replaceAll("'", "'\\''").replaceAll('##[', "#''#[")}'`;
}

/** A path that is no flag, and that GitHub Actions does not read as a command. */
const asPath = (path: string) => (/^[-:]/.test(path) ? `./${path}` : path);

function wordsOf(options: Fix['options']): string[] {
  return Object.entries(options).flatMap(([name, value]) => [flagOf(name), String(value)]);
}

/** The command line that repairs a file. */
function commandOf(file: string, fix: Fix, context: Context, reference: Reference): string {
  const { operation, options, path, fromReference } = fix;
  const { rules, changed } = context;
  if (operation === null || path !== file) {
    const { maxBytes, maxWidth, maxHeight, maxPixels, formats, forbid } = rules;
    const given = { maxBytes, maxWidth, maxHeight, maxPixels, formats, forbid };
    const words = Object.entries(given).flatMap(([name, value]) =>
      value === undefined ? [] : [flagOf(name), String(value)],
    );
    return ['oriel', 'check', '--fix', ...words, asPath(file)].map(quoted).join(' ');
  }
  const line = ['oriel', operation, ...wordsOf(options), '--overwrite'];
  if (!fromReference) return [...line, asPath(file)].map(quoted).join(' ');
  const name = rules.against === undefined ? changed?.nameOf(resolve(file)) : undefined;
  const source = name === undefined ? asPath(reference!.path) : '-';
  const command = [...line, '--out', asPath(file), source].map(quoted).join(' ');
  return name === undefined ? command : `git show ${quoted(name)} | ${command}`;
}

/** Repairs the files that can be, and inspects them again. */
async function fixAll(
  inputs: readonly Input[],
  files: readonly string[],
  checked: Checked[],
  context: Context,
): Promise<void> {
  const inputOf = new Map(inputs.map((input) => [input.filename, input]));
  const broken = checked.filter(({ fix }) => fix);
  for (const name of new Set(broken.map(({ fix }) => fix!.operation))) {
    const own = broken.filter(({ fix }) => fix!.operation === name);
    if (name === null) for (const one of own) attempt(one, () => rename(one.file, one.fix!.path));
    else await repair(name, own, inputOf, context);
  }
  const repaired = broken.filter(({ failure }) => failure === undefined);
  const again = await inspectAll(
    repaired.map(({ file, fix }) => {
      const { relativePath } = inputOf.get(file)!;
      return { filename: fix!.path, source: { path: fix!.path }, relativePath };
    }),
    context,
  );
  for (const [index, one] of repaired.entries()) {
    const { findings } = again[index]!;
    if (findings.length === 0) one.fixed = true;
    else one.failure = `it still violates ${findings.map(({ rule }) => rule).join(', ')}`;
  }
  const outdated = checked.filter(({ recipe }) => recipe);
  if (outdated.length === 0) return;
  await checkRecipe(files, context, [], true);
  const left: Checked[] = [];
  await checkRecipe(files, context, left, false);
  const open = new Set(left.map(({ file }) => file));
  for (const one of outdated) one.fixed = !open.has(one.file);
}

function attempt(one: Checked, work: () => void): void {
  try {
    work();
  } catch (error) {
    one.failure = (error as Error).message;
  }
}

/** Renames a file, and replaces none. */
function rename(from: string, to: string): void {
  linkSync(from, to);
  unlinkSync(from);
}

/** Runs one operation over files, each with its own options, and writes them in place. */
async function repair(
  name: string,
  broken: readonly Checked[],
  inputOf: ReadonlyMap<string, Input>,
  { rules, changed, choices }: Context,
): Promise<void> {
  const operation = findOperation(name)!;
  const writer = new Writer({ overwrite: false });
  const planned = broken.map(({ file, fix }): Planned => {
    const input = inputOf.get(file)!;
    const path = fix!.fromReference ? referenceOf(input, rules, changed)!.path : file;
    const options = parseFields(operation.options, fix!.options) as object;
    return { ...plannedInput({ ...input, source: { path } }), options };
  });
  const sink: OutputSink = {
    async store({ bytes }, { filename }, index) {
      const { path } = broken[index]!.fix!;
      await writer.write(
        path,
        (descriptor) => void writeFileSync(descriptor, bytes),
        path === filename,
      );
      if (path !== filename) unlinkSync(filename);
      return { outputFilename: path };
    },
    abandon: () => writer.settled(),
  };
  const add = async ({ index, error }: FileRecord) => {
    if (error) broken[index]!.failure = error.message;
  };
  const reportFor = () => ({ add, finish: async () => {} });
  await runPlanned(operation, planned, sink, { ...choices, options: {} }, reportFor, null);
}

/** Compares the outputs of a recipe with those that it would make, or makes them. */
async function checkRecipe(
  files: readonly string[],
  { rules, flags, changed, choices }: Context,
  checked: Checked[],
  write: boolean,
): Promise<void> {
  const { recipe, sources, out } = rules;
  if (recipe === undefined) return;
  const given = sources === undefined ? files : [sources];
  const isFile = !PRESETS.some((preset) => preset === recipe);
  // By a changed recipe or output, any source may be concerned.
  const moved = [...(changed?.files.keys() ?? []), ...(changed?.deleted ?? [])];
  const outputs = out === undefined ? undefined : resolve(out);
  const isOutput = (path: string) => outputs !== undefined && isInside(outputs, path);
  const isAll = moved.some((path) => (isFile && path === resolve(recipe)) || isOutput(path));
  const accepts = ({ filename }: Input) =>
    changed === undefined || isAll || changed.files.has(resolve(filename));
  const { maxFileSize, timeout } = flags;
  const run = {
    recipe: isFile ? readText(recipe, PRESETS) : recipe,
    quiet: true,
    jobs: choices.run.jobs,
  };
  const mode = write ? { overwrite: true } : { check: true };
  const command = ['oriel', 'run', asPath(recipe), '--recursive', '--overwrite'];
  const target = out === undefined ? [] : ['--out', asPath(out)];
  const line = [...command, ...target, ...given.map(asPath)].map(quoted).join(' ');
  const add = async ({
    inputFilename: file,
    originalSize: size,
    outputs = [],
    error,
  }: FileRecord) => {
    const findings = outputs.flatMap(({ outputFilename = '', reason }) =>
      reason && reason.code !== 'unchanged'
        ? [{ rule: reason.code, message: `${outputFilename}: ${reason.message}` }]
        : [],
    );
    if (findings.length > 0) checked.push({ file, size, findings, command: line, recipe: true });
    const isKnown = checked.some((one) => one.file === file && one.findings.length > 0);
    if (error && !isKnown)
      checked.push({ file, size, findings: [{ rule: error.code, message: error.message }] });
  };
  await runImageCommand(
    recipeOperation as unknown as Operation,
    given,
    { ...run, ...mode, recursive: true, out, maxFileSize, timeout },
    { origin: recipe, accepts, reportOf: () => ({ add, finish: async () => {} }) },
  );
}
