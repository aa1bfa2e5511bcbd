import { writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type * as v from 'valibot';
import { printable } from '../../operations/batch/filename.ts';
import { escapeMarkup, urlOf } from '../../operations/tools/html.ts';
import { counted } from '../../words.ts';
import { Writer } from '../files/writer.ts';
import { annotate } from '../reports/annotations.ts';
import { printRows } from '../terminal/table.ts';
import { humanBytes, humanChange, jsonText, print, printStderr } from '../terminal/terminal.ts';
import type { reportFlags } from './check-flags.ts';
import type { Checked } from './repairs.ts';

/** Rows of the Markdown table: GitHub takes 1 MiB of a summary, and 64 KiB of a comment. */
const MAX_ROWS = 200;

/** Numbers of files, of findings that were not repaired, and of files that were. */
type Summary = Readonly<Record<'files' | 'findings' | 'fixed', number>>;

/** The reports that are files, by their flags. */
const DOCUMENTS = { junit: junitOf, sarif: sarifOf, markdown: markdownOf };

/**
 * Prints and writes the results in all formats that were asked for.
 *
 * @returns how many findings were not repaired
 */
export async function report(
  checked: readonly Checked[],
  reports: v.InferOutput<typeof reportFlags>,
): Promise<number> {
  const { json, quiet, annotate: annotates } = reports;
  const found = checked.filter(({ findings }) => findings.length > 0);
  const left = found.filter(({ fixed }) => !fixed);
  const open = left.flatMap((one) => one.findings.map((finding) => ({ ...finding, one })));
  const summary: Summary = {
    files: new Set(checked.map(({ file }) => file)).size,
    findings: open.length,
    fixed: found.length - left.length,
  };
  const names = Object.keys(DOCUMENTS) as (keyof typeof DOCUMENTS)[];
  if (json) await print(jsonOf(checked, summary));
  else if (!quiet && names.every((name) => reports[name] !== '-')) await printFindings(found);
  for (const { rule, message, one } of annotates ? open : []) {
    annotate({ level: 'error', file: one.file, title: rule, message: message + adviceOf(one) });
  }
  for (const name of names) {
    const path = reports[name];
    const text = path === undefined ? '' : DOCUMENTS[name](checked, summary);
    if (path === '-') await print(text);
    else if (path !== undefined)
      await new Writer({ overwrite: true }).write(path, (file) => void writeFileSync(file, text));
  }
  if (!quiet) {
    const problems = open.length === 0 ? 'no problems' : counted(open.length, 'problem');
    const repaired = summary.fixed > 0 ? `; ${counted(summary.fixed, 'file')} repaired` : '';
    printStderr(`${problems}; ${counted(summary.files, 'file')} checked${repaired}`);
  }
  return open.length;
}

function adviceOf({ command, failure }: Checked): string {
  if (failure !== undefined) return `; it could not be repaired: ${failure}`;
  return command === undefined ? '' : `; fix: ${command}`;
}

async function printFindings(found: readonly Checked[]): Promise<void> {
  const wrapped = (text: string) => ({ text: printable(text), wraps: true });
  await printRows(
    found.flatMap((one) => {
      const { file, findings, fixed, failure, command } = one;
      const notes = [
        fixed && 'repaired',
        failure !== undefined && `not repaired: ${failure}`,
        !fixed && command !== undefined && `fix: ${command}`,
      ];
      return [
        ...findings.map(({ rule, message }) => [file, rule, wrapped(message)]),
        ...notes.flatMap((note) => (note ? [[wrapped(`  ${note}`)]] : [])),
      ];
    }),
    [{ minWidth: 12 }, {}, {}],
  );
}

/** One JSON document, a line for each file. */
function jsonOf(checked: readonly Checked[], summary: Summary): string {
  const lines = checked.map((one) => jsonText({ ...one, fix: undefined, recipe: undefined }));
  return `{"operation":"check","summary":${jsonText(summary)},"results":[\n${lines.join(',\n')}\n]}\n`;
}

/** Text for XML 1.0, which has no characters for most controls and for U+FFFE and U+FFFF. */
function xml(text: string): string {
  return escapeMarkup(printable(text).replace(/[\ufffe\uffff\p{Surrogate}]/gu, '\ufffd'));
}

/** A report as Jenkins, GitLab and others read it: a test case for each file. */
function junitOf(checked: readonly Checked[]): string {
  let failures = 0;
  const cases = checked.map((one) => {
    const name = `<testcase classname="oriel check" name="${xml(one.file)}"`;
    const [first] = one.findings;
    if (one.fixed || first === undefined) return `${name}/>`;
    failures += 1;
    const lines = one.findings.map(({ rule, message }) => xml(`${rule}: ${message}`));
    const attributes = `type="${xml(first.rule)}" message="${xml(first.message)}"`;
    const text = lines.join('\n') + xml(adviceOf(one));
    return `${name}><failure ${attributes}>${text}</failure></testcase>`;
  });
  const counts = `tests="${checked.length}" failures="${failures}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `<testsuite name="oriel check" ${counts} errors="0" skipped="0">`,
    ...cases,
    '</testsuite>',
    '</testsuites>\n',
  ].join('\n');
}

/** Static Analysis Results Interchange Format (OASIS, 2.1.0). GitHub needs a region, also of files without lines. */
function sarifOf(checked: readonly Checked[]): string {
  const root = process.env['GITHUB_WORKSPACE'] ?? '.';
  const results = checked.flatMap((one) => {
    const uri = urlOf('', relative(root, resolve(one.file)));
    const artifactLocation = { uri, uriBaseId: '%SRCROOT%' };
    const locations = [{ physicalLocation: { artifactLocation, region: { startLine: 1 } } }];
    return (one.fixed ? [] : one.findings).map(({ rule, message }) => {
      const text = printable(message + adviceOf(one));
      return { ruleId: rule, level: 'error', message: { text }, locations };
    });
  });
  const rules = [...new Set(results.map(({ ruleId }) => ruleId))].map((id) => {
    return { id, shortDescription: { text: `oriel check: ${id}` } };
  });
  const tool = { driver: { name: 'Oriel', rules } };
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool, columnKind: 'utf16CodeUnits', results }],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

/** Code in a cell of a table. Bars end cells and backticks end code, also after a backslash. */
function code(text: string): string {
  const escaped = text.replace(/[\\|`]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);
  return `\`${printable(escaped).trim() || ' '}\``;
}

/** A table of the files with findings, of those with another size than before, and of those that could be smaller. */
function markdownOf(checked: readonly Checked[], { files, findings, fixed }: Summary): string {
  const saved = checked.reduce((sum, { size, optimized = size }) => sum + size - optimized, 0);
  const isMeasured = checked.some(({ optimized }) => optimized !== undefined);
  const listed = checked.filter(
    ({ findings: [any], optimized, size, before = size }) =>
      any || (optimized ?? size) < size || before !== size,
  );
  const rows = listed.slice(0, MAX_ROWS).map((one) => {
    const { file, size, before = size, optimized = size, command } = one;
    const sizes =
      before === size
        ? humanBytes(size)
        : `${humanBytes(before)} → ${humanBytes(size)} (${humanChange(before, size) || 'new'})`;
    const saving =
      optimized === size ? '' : `${humanBytes(size - optimized)} (${humanChange(size, optimized)})`;
    const problems = one.findings.map(({ rule, message }) => `${rule}: ${code(message)}`);
    const fix = one.fixed ? 'repaired' : command === undefined ? '' : code(command);
    return `| ${[code(file), sizes, saving, problems.join('<br>'), fix].join(' | ')} |`;
  });
  const more = listed.length - rows.length;
  const total = `${counted(findings, 'problem')} in ${counted(files, 'image')}`;
  const repaired = fixed > 0 ? `, ${fixed} repaired` : '';
  const savings = isMeasured ? `. Optimising would save ${humanBytes(saved)}` : '';
  const head = ['| File | Size | Saving | Problems | Fix |', '| --- | --- | --- | --- | --- |'];
  return [
    ...['### Images', '', `${total}${repaired}${savings}.`, ''],
    ...(rows.length > 0 ? [...head, ...rows, ''] : []),
    ...(more > 0 ? [`${counted(more, 'file')} more.`, ''] : []),
  ].join('\n');
}
