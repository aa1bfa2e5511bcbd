import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { fixed } from '../series.ts';
import {
  type Bench,
  goalOf,
  type Log,
  type Settings,
  suiteOf,
  type Trial,
  tableOf,
} from '../trial.ts';
import { Corpus } from './corpus.ts';
import { sharpVersions } from './pictures.ts';

const project = fileURLToPath(new URL('../../../../', import.meta.url));
const binary = join(project, 'dist/bin/oriel.cjs');

const FORMATS = ['jpeg', 'webp', 'avif'] as const;

/** Bytes of outputs whose SSIM is searched, beside those of the fixed default quality. */
export const quality = suiteOf(
  'quality',
  'bytes at equal SSIM, of a searched quality against the fixed default',
  Object.fromEntries(FORMATS.map((format) => [format, (bench) => compare(bench, format)])),
  () => sharpVersions,
);

/** Least side of a picture that is measured: smaller ones are test patterns. */
const LEAST_SIDE = 100;

/** Opaque images of one frame: generated photographs, and the real ones of the folder that ORIEL_SHARED names. */
async function gather(settings: Settings, folder: string, log: Log): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const outside = process.env['ORIEL_SHARED'];
  const real = outside ? join(outside, 'images') : null;
  const { files } = await new Corpus(settings.scratch, log).smallerPhotos(settings.quick ? 2 : 6);
  for (const file of files) copyFileSync(file, join(folder, basename(file)));
  for (const name of real ? readdirSync(real) : []) {
    try {
      const image = sharp(join(real!, name));
      const { width, height, pages = 1, format, hasAlpha } = await image.metadata();
      if (pages > 1 || format === 'svg' || hasAlpha || Math.min(width, height) < LEAST_SIDE)
        continue;
      await image.stats();
      // The same name with another extension may exist.
      copyFileSync(join(real!, name), join(folder, `${extname(name).slice(1)}-${name}`));
    } catch {
      // Damaged on purpose, or in no format that sharp reads.
    }
  }
}

interface Outcome {
  readonly bytes: number;
  readonly ssims: readonly number[];
  readonly seconds: number;
}

function oriel(args: readonly string[]): string {
  try {
    return execFileSync(process.execPath, [binary, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 2 ** 28,
    });
  } catch (error) {
    // Files that one command cannot read; their records have the reason.
    const { stdout, status } = error as { stdout?: string; status?: number };
    if (status === 1 && stdout) return stdout;
    throw error;
  }
}

interface Record {
  readonly inputFilename: string;
  readonly status: string;
  readonly size?: number;
  readonly data?: { readonly ssim?: number };
}

function measure(source: string, out: string, args: readonly string[]): Outcome {
  rmSync(out, { recursive: true, force: true });
  const started = performance.now();
  const made = oriel([...args, '--recursive', source, '--out', out, '--json']);
  const seconds = (performance.now() - started) / 1000;
  const { results } = JSON.parse(made) as { results: Record[] };
  const compared = JSON.parse(
    oriel(['compare', '--full-size', '--recursive', source, out, '--json']),
  ) as {
    results: Record[];
  };
  return {
    bytes: results.reduce((sum, { size = 0 }) => sum + size, 0),
    ssims: compared.results.flatMap(({ data }) => data?.ssim ?? []),
    seconds,
  };
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

async function compare({ settings, folder, log }: Bench, format: string): Promise<Trial> {
  const source = join(folder, 'source');
  const out = join(folder, 'out');
  await gather(settings, source, log);
  const fixedQuality = measure(source, out, ['convert', '--format', format]);
  // Rounded down, so that the outputs of the default reach it themselves.
  const [average, least] = [mean(fixedQuality.ssims), Math.min(...fixedQuality.ssims)].map(
    (ssim) => Math.floor(ssim * 1e4) / 1e4,
  ) as [number, number];
  const searched = (ssim: number) =>
    measure(source, out, [
      ...['optimize', '--format', format, '--no-keep-if-smaller'],
      ...['--target-ssim', `${Math.max(0.5, ssim)}`],
    ]);
  const [atMean, atLeast] = [searched(average), searched(least)];
  const outcomes = {
    'convert, default quality': fixedQuality,
    [`optimize --target-ssim ${average}, its mean`]: atMean,
    [`optimize --target-ssim ${least}, its least`]: atLeast,
  };
  const goal = (name: string, { bytes }: Outcome) => ({
    ...goalOf(`bytes at its ${name} SSIM ≤ 1.00 × default`, [bytes / fixedQuality.bytes], 1),
    atBest: '',
  });
  return {
    title: `quality of ${format.toUpperCase()}`,
    text: `${fixedQuality.ssims.length} pictures; the SSIM of each output is at least the target, that of the default varies.`,
    ...tableOf(Object.entries(outcomes), [
      ['outputs of', ([name]) => name],
      ['MB', ([, { bytes }]) => fixed(bytes / 1e6, 3)],
      ['least SSIM', ([, { ssims }]) => fixed(Math.min(...ssims), 4)],
      ['mean SSIM', ([, { ssims }]) => fixed(mean(ssims), 4)],
      ['wall s', ([, { seconds }]) => fixed(seconds, 1)],
    ]),
    goals: [goal('mean', atMean), goal('least', atLeast)],
    raw: outcomes,
  };
}
