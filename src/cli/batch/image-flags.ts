import * as v from 'valibot';
import { DEFAULT_LIMITS, type Limits } from '../../images/limits.ts';
import { integer, number, optional, withDefault } from '../../schema/fields.ts';
import { type FlagGroup, type Flags, flag, readFlags, textFlag } from '../command/command.ts';

/** Inputs of an image command. */
export const inputFlags = v.strictObject({
  recursive: flag('include images in folders, and keep the folder tree below --out', {
    short: 'r',
  }),
  strict: flag('fail on unsupported files in folders instead of skipping them'),
  filesFrom: textFlag(
    'read more paths from a list, separated by new lines or NUL',
    'a file, or -',
    { path: true },
  ),
});

/** Outputs of an image command. */
export const outputFlags = v.strictObject({
  out: textFlag(
    'where to write outputs; beside their inputs by default',
    'a folder, a file for one image, or -',
    { short: 'o', path: true },
  ),
  name: textFlag(
    'template for output names',
    '{name} {ext} {width} {height} {index} {format} {hash} {parent} {date} {date:YYYY-MM-DD}',
  ),
  zip: textFlag('write one ZIP with a manifest.json instead of files', 'a file, or -', {
    path: true,
  }),
  overwrite: flag('replace files that exist'),
  skipExisting: flag('skip inputs whose output exists'),
  bestEffort: flag('write the nearest output if none reaches --target-size or --target-ssim'),
  keepMtime: flag('keep the modification time of each input'),
  watch: flag('go on after the first run: redo changed files until Ctrl-C; implies --incremental'),
  check: flag('write nothing, and exit with 1 if an output is missing or differs'),
});

/** Execution and report of an image command. */
export const runFlags = v.strictObject({
  json: flag('print one JSON document of all results'),
  jsonl: flag('print a line of JSON for each file as it finishes'),
  sha256sum: flag('print lines that sha256sum --check reads'),
  quiet: flag('print errors only', { short: 'q' }),
  annotate: optional(
    v.picklist(['github']),
    'mark failed files in GitHub Actions, on standard error',
  ),
  jobs: optional(integer(1, 256), 'threads; default one for each core', { short: 'j' }),
  failFast: flag('stop after the first failure'),
  dryRun: flag('show what would be done, and do nothing'),
  incremental: flag('process only what changed since the last run with the same cache'),
  cache: textFlag(
    'folder for cached results, .oriel-cache by default; implies --incremental',
    'a folder',
    {
      path: true,
    },
  ),
  cacheSize: withDefault(number(1, 1e9), 2048, 'size limit of the cache in megabytes'),
});

const MEGABYTE = 1e6;
const MEGAPIXEL = 1e6;

/** Limits on each file, which can be raised for trusted images. */
export const limitFlags = v.strictObject({
  maxFileSize: withDefault(number(0.001, 4096), 30, 'largest input in megabytes'),
  maxPixels: withDefault(
    number(0.001, 10_000),
    DEFAULT_LIMITS.pixels / MEGAPIXEL,
    'largest input in megapixels, over all decoded frames',
  ),
  maxFrames: withDefault(
    integer(1, 100_000),
    DEFAULT_LIMITS.frames,
    'most frames of an input, if all are decoded',
  ),
  maxSide: withDefault(
    integer(1, 65_535),
    DEFAULT_LIMITS.side,
    'longest side of an output in pixels',
  ),
  timeout: withDefault(
    number(0.001, 86_400),
    DEFAULT_LIMITS.deadline / 1000,
    'time limit for each file in seconds',
  ),
  allowSvg: flag('read SVG'),
});

/** The flags of every command over images, as the help lists them. */
export const INPUTS: FlagGroup = { heading: 'Inputs:', schema: inputFlags };
export const OUTPUTS: FlagGroup = { heading: 'Outputs:', schema: outputFlags };
export const LIMITS: FlagGroup = { heading: 'Limits:', schema: limitFlags };
export const runningExcept = (...except: (keyof typeof runFlags.entries)[]): FlagGroup => {
  return { heading: 'Running:', schema: runFlags, except };
};

export function readLimits(given: Flags): Limits {
  const flags = readFlags(limitFlags, given);
  return {
    fileBytes: Math.round(flags.maxFileSize * MEGABYTE),
    pixels: Math.round(flags.maxPixels * MEGAPIXEL),
    frames: flags.maxFrames,
    side: flags.maxSide,
    deadline: flags.timeout * 1000,
    svg: flags.allowSvg,
    svgSwitch: '--allow-svg',
    programs: true,
  };
}
