import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeReport } from '../torture/report.ts';
import { picture } from './picture.ts';
import { type Outcome, soakText } from './report.ts';
import { Recording } from './samples.ts';
import { soak } from './soak.ts';
import { judge } from './verdict.ts';

const usage = `npm run soak -- [options]

  --hours N        duration of the load (default 2)
  --seed TEXT      seed of all random inputs (default: the time)
  --growth N       share of its level by which a line may grow over the measured time (default 0.1)
  --hang MS        limit after which a request without a response counts as hanging (default 90000)
  --out FOLDER     samples.jsonl, soak.svg and results.json (default soak-out)
  --draw           no run: draw again what the folder has, of a run that ended or of one under way
  --report FILE    write the report to FILE as well; between the markers of SECURITY.md if it has them

Progress goes to standard error, the report as Markdown to standard output. The exit code is 1 if a line is not
flat, or if a request was lost or charged wrong.
`;

const { values } = parseArgs({
  options: {
    hours: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Date.now()) },
    growth: { type: 'string', default: '0.1' },
    hang: { type: 'string', default: '90000' },
    out: { type: 'string', default: 'soak-out' },
    draw: { type: 'boolean', default: false },
    report: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const [hours, share, hang] = [values.hours, values.growth, values.hang].map(Number) as [
  number,
  number,
  number,
];
if (values.help || !(hours > 0 && share > 0 && hang > 0)) {
  process.stderr.write(usage);
  process.exit(2);
}

const started = performance.now();
function progress(line: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  process.stderr.write(`${seconds.padStart(5)} s  ${line}\n`);
}

const results = join(values.out, 'results.json');
let outcome: Outcome | null = null;
if (!values.draw) {
  outcome = await soak({ hours, seed: values.seed, out: values.out, hang, progress });
} else if (existsSync(results)) {
  ({ outcome } = JSON.parse(readFileSync(results, 'utf8')) as { outcome: Outcome | null });
}
const recording = Recording.read(values.out);
const { warmUp, isFull } = recording.header;
const judged = judge(recording.samples, { warmUp, share, isFull });
writeFileSync(
  results,
  `${JSON.stringify({ header: recording.header, judged, outcome }, null, 2)}\n`,
);
writeFileSync(join(values.out, 'soak.svg'), picture(recording, judged));
const text = soakText(recording, judged, outcome);
process.stdout.write(text);
if (values.report !== undefined) writeReport(values.report, 'soak', text);
const grows = judged.some(({ verdict }) => verdict === 'grows');
process.exit(grows || (outcome?.violations.length ?? 0) > 0 ? 1 : 0);
