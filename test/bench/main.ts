import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { daemon } from './daemon/suite.ts';
import { gateway } from './gateway/suite.ts';
import { quality } from './images/quality-suite.ts';
import { images } from './images/suite.ts';
import { machine } from './machine.ts';
import { Interruption } from './measure.ts';
import { nodes } from './nodes/suite.ts';
import { reportText } from './report.ts';
import { store } from './store/suite.ts';
import { tasks } from './tasks/suite.ts';
import { chosenCases, type Settings, type Suite } from './trial.ts';

const suites: Record<string, Suite> = { images, quality, daemon, store, gateway, tasks, nodes };

const usage = `npm run bench -- SUITE [options]

Suites:
${Object.entries(suites)
  .map(([name, { summary, cases }]) => `  ${name}  ${summary}\n    cases: ${cases.join(', ')}`)
  .join('\n')}

Options:
  --rounds N            counted rounds after the warm-up (default 5)
  --retries N           do a run again, up to N times, where other processes had more than a tenth of the
                        machine meanwhile; the least disturbed counts (default 0)
  --only CASE,...       only these cases; a name takes those that continue it along
  --contenders NAME,... only these beside the limit
  --without NAME,...    leave these out
  --quick               a small corpus and two rounds
  --json FILE           write every figure to FILE

Peers and inputs are kept in $ORIEL_BENCH_DIR, by default a folder for temporary files.
Progress goes to standard error, the report as Markdown to standard output.
`;

class UsageError extends Error {}

function readArguments(): { name: string; suite: Suite; settings: Settings; json?: string } {
  const { values, positionals } = parse();
  const [name = '', ...rest] = positionals;
  const suite = suites[name];
  if (suite === undefined || rest.length > 0) throw new UsageError('expected one suite');
  const settings: Settings = {
    rounds: wholeNumber('rounds', values.rounds ?? (values.quick ? '2' : '5'), 1),
    retries: wholeNumber('retries', values.retries ?? '0', 0),
    quick: values.quick,
    only: names(values.only),
    contenders: names(values.contenders),
    without: names(values.without) ?? [],
    scratch: process.env['ORIEL_BENCH_DIR'] ?? join(tmpdir(), 'oriel-bench'),
  };
  if (chosenCases(suite.cases, settings.only).length === 0) {
    throw new UsageError(`expected cases of ${suite.cases.join(', ')}, received ${values.only}`);
  }
  return { name, suite, settings, ...(values.json === undefined ? {} : { json: values.json }) };
}

function parse() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        retries: { type: 'string' },
        only: { type: 'string' },
        contenders: { type: 'string' },
        without: { type: 'string' },
        quick: { type: 'boolean', default: false },
        json: { type: 'string' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(flag: string, value: string, least: number): number {
  const number = Number(value);
  if (Number.isInteger(number) && number >= least) return number;
  throw new UsageError(`expected a whole number from ${least} for --${flag}, received ${value}`);
}

function names(list: string | undefined): string[] | undefined {
  return list?.split(',').map((name) => name.trim());
}

try {
  const { name, suite, settings, json } = readArguments();
  const facts = machine();
  const started = performance.now();
  const report = await suite.run(settings, (line) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0);
    process.stderr.write(`${seconds.padStart(5)} s  ${line}\n`);
  });
  process.stdout.write(reportText(name, facts, report));
  if (json !== undefined) {
    writeFileSync(json, `${JSON.stringify({ machine: facts, settings, ...report }, null, 2)}\n`);
  }
  if (report.faults.length > 0) process.exitCode = 1;
} catch (error) {
  if (error instanceof Interruption) {
    process.exitCode = 130;
  } else if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n\n${usage}`);
    process.exitCode = 2;
  } else {
    throw error;
  }
}
