import { parseArgs } from 'node:util';
import { KINDS, type Kind } from './fuzz/fuzz.ts';
import { fuzzAlone } from './fuzz-alone.ts';
import { reportText, writeReport } from './report.ts';
import { BOUNDS, torture } from './torture.ts';

const usage = `npm run torture -- [options]

  --minutes N      duration of the load (default 10)
  --seed TEXT      seed of all random inputs (default: the time)
  --fuzz SECONDS   only the fuzzing
  --case KIND:N    only one input of the fuzzing, of the given seed (${KINDS.join(', ')})
  --attacks A,B    only attacks whose names contain one of these
  --p99 MS         bound for good tenants' small requests (default ${BOUNDS.p99})
  --image-p99 MS   the same for those with images (default ${BOUNDS.imageP99})
  --hang MS        limit after which a request without a response counts as hanging (default ${BOUNDS.hangTimeout})
  --share N        least share of good tenants' requests that are served at once (default ${BOUNDS.share})
  --report FILE    write the report to FILE as well; between the markers of SECURITY.md if it has them

Progress goes to standard error, the report as Markdown to standard output. The exit code is 1
after a violation.
`;

class UsageError extends Error {}

function parse() {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: 'string', default: '10' },
        seed: { type: 'string', default: String(Date.now()) },
        fuzz: { type: 'string' },
        case: { type: 'string' },
        p99: { type: 'string', default: String(BOUNDS.p99) },
        share: { type: 'string', default: String(BOUNDS.share) },
        report: { type: 'string' },
        attacks: { type: 'string' },
        hang: { type: 'string', default: String(BOUNDS.hangTimeout) },
        'image-p99': { type: 'string', default: String(BOUNDS.imageP99) },
      },
    });
    return values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function positive(flag: string, text: string): number {
  const number = Number(text);
  if (number > 0 && Number.isFinite(number)) return number;
  throw new UsageError(`expected a number above 0 for --${flag}, received ${text}`);
}

function oneCase(text: string): { kind: Kind; number: number } {
  const [kind, number = ''] = text.split(':');
  const known = KINDS.find((each) => each === kind);
  if (known === undefined || !/^\d+$/.test(number)) {
    throw new UsageError(`expected KIND:NUMBER for --case, received ${text}`);
  }
  return { kind: known, number: Number(number) };
}

const started = performance.now();
function progress(line: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  process.stderr.write(`${seconds.padStart(5)} s  ${line}\n`);
}

try {
  const { minutes, seed, fuzz, case: chosen, p99, share, report, ...rest } = parse();
  progress(`seed ${seed}`);
  let text: string;
  let count: number;
  if (fuzz !== undefined || chosen !== undefined) {
    const only = chosen === undefined ? undefined : oneCase(chosen);
    const seconds = positive('fuzz', fuzz ?? '60');
    ({ text, count } = await fuzzAlone({ seed, seconds, progress, ...(only && { only }) }));
  } else {
    const bounds = {
      ...BOUNDS,
      p99: positive('p99', p99),
      imageP99: positive('image-p99', rest['image-p99']),
      hangTimeout: positive('hang', rest.hang),
      share: positive('share', share),
    };
    const attacks = rest.attacks?.split(',');
    const result = await torture({
      minutes: positive('minutes', minutes),
      seed,
      bounds,
      progress,
      ...(attacks && { attacks }),
    });
    text = reportText(result);
    count = result.violations.length;
  }
  process.stdout.write(text);
  if (report !== undefined) writeReport(report, 'torture', text);
  process.exit(count > 0 ? 1 : 0);
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage}`);
  process.exitCode = 2;
}
