import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import {
  chosenCases,
  type GoalResult,
  type Report,
  type Section,
  type Settings,
  type Suite,
} from '../suite.ts';
import { Corpus } from './corpus.ts';
import { sharpVersions } from './pictures.ts';

const project = fileURLToPath(new URL('../../../../', import.meta.url));
const binary = join(project, 'dist/bin/oriel.cjs');

const FORMATS = ['jpeg', 'webp', 'avif'] as const;

/** Bytes of outputs whose SSIM is searched, beside those of the fixed default quality. */
export const quality: Suite = {
  summary: 'bytes at equal SSIM, of a searched quality against the fixed default',
  cases: [...FORMATS],
  run,
};

/** Least side of a picture that is measured: smaller ones are test patterns. */
const LEAST_SIDE = 100;

/** Opaque images of one frame: generated photographs, and the real ones of the folder that ORIEL_SHARED names. */
async function gather(settings: Settings, folder: string, log: (line: string) => void) {
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

async function run(settings: Settings, log: (line: string) => void): Promise<Report> {
  const scratch = join(settings.scratch, `quality-${process.pid}`);
  const source = join(scratch, 'source');
  const sections: Section[] = [];
  const goals: GoalResult[] = [];
  const raw: { [format: string]: unknown } = {};
  try {
    mkdirSync(source, { recursive: true });
    await gather(settings, source, log);
    for (const format of chosenCases(quality.cases, settings.only)) {
      log(format);
      const out = join(scratch, format);
      const fixed = measure(source, out, ['convert', '--format', format]);
      // Rounded down, so that the outputs of the default reach it themselves.
      const [average, least] = [mean(fixed.ssims), Math.min(...fixed.ssims)].map(
        (ssim) => Math.floor(ssim * 1e4) / 1e4,
      ) as [number, number];
      const searched = (ssim: number) =>
        measure(source, out, [
          ...['optimize', '--format', format, '--no-keep-if-smaller'],
          ...['--target-ssim', `${Math.max(0.5, ssim)}`],
        ]);
      const outcomes = {
        'convert, default quality': fixed,
        [`optimize --target-ssim ${average}, its mean`]: searched(average),
        [`optimize --target-ssim ${least}, its least`]: searched(least),
      };
      raw[format] = outcomes;
      const [, atMean, atLeast] = Object.values(outcomes) as [Outcome, Outcome, Outcome];
      sections.push(section(format, outcomes));
      for (const [goal, { bytes }] of [
        ['bytes at its mean SSIM ≤ 1.00 × default', atMean],
        ['bytes at its least SSIM ≤ 1.00 × default', atLeast],
      ] as const) {
        const ratio = bytes / fixed.bytes;
        goals.push({ case: format, goal, measured: ratio.toFixed(2), atBest: '', met: ratio <= 1 });
      }
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return { versions: sharpVersions, sections, goals, faults: [], raw };
}

function section(format: string, outcomes: { readonly [name: string]: Outcome }): Section {
  const rows = Object.entries(outcomes).map(([name, { bytes, ssims, seconds }]) => [
    name,
    (bytes / 1e6).toFixed(3),
    Math.min(...ssims).toFixed(4),
    mean(ssims).toFixed(4),
    seconds.toFixed(1),
  ]);
  const count = Object.values(outcomes)[0]!.ssims.length;
  return {
    title: `quality of ${format.toUpperCase()}`,
    text: `${count} pictures; the SSIM of each output is at least the target, that of the default varies.`,
    table: { headings: ['outputs of', 'MB', 'least SSIM', 'mean SSIM', 'wall s'], rows },
  };
}
