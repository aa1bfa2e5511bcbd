import { writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import type * as v from 'valibot';
import { printable } from '../../operations/batch/filename.ts';
import { Writer } from '../files/writer.ts';
import { escapeMarkup, urlOf } from '../images/html.ts';
import { annotate } from '../reports/annotations.ts';
import { printRows } from '../terminal/table.ts';
import {
  counted,
  humanBytes,
  humanChange,
  jsonText,
  print,
  printStderr,
} from '../terminal/terminal.ts';
import type { reportFlags } from './check-flags.ts';
import type { Checked } from './repairs.ts';
import type { Finding } from './rules.ts';

/** Rows of the Markdown table: GitHub takes 1 MiB of a summary, and 64 KiB of a comment. */
const MAX_ROWS = 200;

/** Prints and writes the results in all formats that were asked for. @param open findings that were not repaired */
export async function report(
  checked: readonly Checked[],
  reports: v.InferOutput<typeof reportFlags>,
  open: number,
): Promise<void> {
  const { json, quiet, annotate: annotates, junit, sarif, markdown } = reports;
  const found = checked.filter(({ findings }) => findings.length > 0);
  const left = found.filter(({ fixed }) => !fixed);
  const fixed = found.length - left.length;
  const files = new Set(checked.map(({ file }) => file)).size;
  const summary = { files, findings: open, fixed };
  const printed = json || [junit, sarif, markdown].includes('-');
  if (json) await printDocument(checked, summary);
  else if (!quiet && !printed) await printFindings(found);
  for (const one of annotates ? left : []) {
    for (const { rule, message } of one.findings) {
      annotate({ level: 'error', file: one.file, title: rule, message: message + adviceOf(one) });
    }
  }
  if (junit !== undefined) await write(junit, junitOf(checked, left));
  if (sarif !== undefined) await write(sarif, sarifOf(left));
  if (markdown !== undefined) await write(markdown, markdownOf(checked, summary));
  if (quiet) return;
  const problems = open === 0 ? 'no problems' : counted(open, 'problem');
  const repaired = fixed > 0 ? `; ${counted(fixed, 'file')} repaired` : '';
  printStderr(`${problems}; ${counted(files, 'file')} checked${repaired}`);
}

async function write(path: string, text: string): Promise<void> {
  if (path === '-') return print(text);
  const content = (descriptor: number) => void writeFileSync(descriptor, text);
  await new Writer({ overwrite: true }).write(path, content);
}

function adviceOf({ command, failure }: Checked): string {
  if (failure !== undefined) return `; it could not be repaired: ${failure}`;
  return command === undefined ? '' : `; fix: ${command}`;
}

async function printFindings(found: readonly Checked[]): Promise<void> {
  const wrapped = (text: string) => ({ text: printable(text), wraps: true });
  await printRows(
    found.flatMap((one) => [
      ...one.findings.map(({ rule, message }) => [one.file, rule, wrapped(message)]),
      ...(one.fixed ? [[wrapped('  repaired')]] : []),
      ...(one.failure === undefined ? [] : [[wrapped(`  not repaired: ${one.failure}`)]]),
      ...(one.fixed || one.command === undefined ? [] : [[wrapped(`  fix: ${one.command}`)]]),
    ]),
    [{ minWidth: 12 }, {}, {}],
  );
}

/** One JSON document, a line for each file. */
async function printDocument(checked: readonly Checked[], summary: object): Promise<void> {
  await print(`{"operation":"check","summary":${jsonText(summary)},"results":[`);
  for (const [index, { fix: _, recipe: __, ...one }] of checked.entries()) {
    await print(`${index === 0 ? '' : ','}\n${jsonText(one)}`);
  }
  await print('\n]}\n');
}

/** Text for XML 1.0, which has no characters for most controls and for U+FFFE and U+FFFF. */
function xml(text: string): string {
  return escapeMarkup(printable(text).replace(/[\ufffe\uffff\p{Surrogate}]/gu, '\ufffd'));
}

/** A report as Jenkins, GitLab and others read it: a test case for each file. */
function junitOf(checked: readonly Checked[], left: readonly Checked[]): string {
  const counts = `tests="${checked.length}" failures="${left.length}"`;
  const cases = checked.map((one) => {
    const name = `<testcase classname="oriel check" name="${xml(one.file)}"`;
    if (one.fixed || one.findings.length === 0) return `${name}/>`;
    const [{ rule, message }] = one.findings as [Finding];
    const all = one.findings.map((finding) => `${finding.rule}: ${finding.message}`).join('\n');
    const text = xml(all).replaceAll('\\n', '\n') + xml(adviceOf(one));
    return `${name}><failure type="${xml(rule)}" message="${xml(message)}">${text}</failure></testcase>`;
  });
  const suite = [`<testsuite name="oriel check" ${counts} errors="0" skipped="0">`, ...cases];
  const lines = ['<?xml version="1.0" encoding="UTF-8"?>', `<testsuites ${counts}>`, ...suite];
  return `${[...lines, '</testsuite>', '</testsuites>'].join('\n')}\n`;
}

/** Static Analysis Results Interchange Format (OASIS, 2.1.0). GitHub needs a region, also of files without lines. */
function sarifOf(left: readonly Checked[]): string {
  const root = process.env['GITHUB_WORKSPACE'] ?? '.';
  const findings = left.flatMap((one) => one.findings.map((finding) => ({ ...finding, one })));
  const rules = [...new Set(findings.map(({ rule }) => rule))];
  const results = findings.map(({ rule, message, one }) => ({
    ruleId: rule,
    level: 'error',
    message: { text: printable(message + adviceOf(one)) },
    locations: [
      {
        physicalLocation: {
          artifactLocation: {
            uri: urlOf('', relative(root, resolve(one.file))),
            uriBaseId: '%SRCROOT%',
          },
          region: { startLine: 1 },
        },
      },
    ],
  }));
  const driver = {
    name: 'Oriel',
    rules: rules.map((id) => ({ id, shortDescription: { text: `oriel check: ${id}` } })),
  };
  const log = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [{ tool: { driver }, columnKind: 'utf16CodeUnits', results }],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

/** Code in a cell of a table. Bars end cells and backticks end code, also after a backslash. */
function code(text: string): string {
  const escaped = text.replace(/[\\|`]/g, (c) => `\\x${c.charCodeAt(0).toString(16)}`);
  return `\`${printable(escaped).trim() || ' '}\``;
}

/** A table of the files with findings, of those with another size than before, and of those that could be smaller. */
function markdownOf(
  checked: readonly Checked[],
  { files, findings, fixed }: { files: number; findings: number; fixed: number },
): string {
  const sizes = checked.filter(({ optimized }) => optimized !== undefined);
  const saved = sizes.reduce((sum, { size, optimized }) => sum + size - optimized!, 0);
  const listed = checked.filter(
    ({ findings: own, optimized, size, before = size }) =>
      own.length > 0 || (optimized ?? size) < size || before !== size,
  );
  const rows = listed.slice(0, MAX_ROWS).map((one) => {
    const { file, size, before, optimized, findings: own } = one;
    const change =
      before === undefined || before === size
        ? humanBytes(size)
        : `${humanBytes(before)} → ${humanBytes(size)} (${humanChange(before, size) || 'new'})`;
    const smaller = optimized === undefined || optimized === size;
    const saving = smaller
      ? ''
      : `${humanBytes(size - optimized)} (${humanChange(size, optimized)})`;
    const problems = own.map(({ rule, message }) => `${rule}: ${code(message)}`).join('<br>');
    const state = one.fixed ? 'repaired' : one.command === undefined ? '' : code(one.command);
    return `| ${[code(file), change, saving, problems, state].join(' | ')} |`;
  });
  const total = `${counted(findings, 'problem')} in ${counted(files, 'image')}`;
  const head = [
    '### Images',
    '',
    `${total}${fixed > 0 ? `, ${fixed} repaired` : ''}${sizes.length > 0 ? `. Optimising would save ${humanBytes(saved)}` : ''}.`,
    '',
  ];
  const more = listed.length - rows.length;
  const table = ['| File | Size | Saving | Problems | Fix |', '| --- | --- | --- | --- | --- |'];
  return [
    ...head,
    ...(rows.length > 0 ? [...table, ...rows, ''] : []),
    ...(more > 0 ? [`${counted(more, 'file')} more.`, ''] : []),
  ].join('\n');
}
