import * as z from 'zod';
import { DEFAULT_LIMITS, type Limits } from '../operations/limits.ts';

const flag = (description: string, short?: string) =>
  z
    .boolean()
    .default(false)
    .describe(description)
    .meta(short ? { short } : {});

const path = (expects: string, description: string, short?: string) =>
  z
    .string()
    .min(1)
    .optional()
    .describe(description)
    .meta({ expects, ...(short && { short }) });

/** Which files an image command works on. */
export const inputFlags = z.strictObject({
  recursive: flag('take the images in folders, and keep their tree below --out', 'r'),
  filesFrom: path(
    'a file of paths, or -',
    'read further inputs from a file, one a line or NUL between them',
  ),
});

/** Where the outputs of an image command go. */
export const outputFlags = z.strictObject({
  out: path(
    'a folder, a file for one image, or -',
    'where outputs go, instead of beside the inputs',
    'o',
  ),
  name: path('{name} {ext} {width} {height} {index} {format}', 'template of output names'),
  zip: path('a file, or -', 'write one ZIP with a manifest.json instead of files'),
  overwrite: flag('replace files that exist'),
  skipExisting: flag('leave out inputs whose output exists'),
  keepMtime: flag("give outputs their inputs' modification time"),
});

/** How an image command runs and what it says. */
export const runFlags = z.strictObject({
  json: flag('print one JSON document of all results'),
  jsonl: flag('print a line of JSON for each file as it finishes'),
  quiet: flag('print errors only', 'q'),
  jobs: z
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe('threads; all cores where not given')
    .meta({ short: 'j' }),
  failFast: flag('start nothing more after the first failure'),
  dryRun: flag('say what would be done, and do nothing'),
});

const megabytes = (bytes: number) => bytes / 1024 / 1024;

/** Bounds on each file, for those who trust their images more than the defaults do. */
export const limitFlags = z.strictObject({
  maxFileSize: z
    .number()
    .gt(0)
    .default(megabytes(DEFAULT_LIMITS.fileBytes))
    .describe('megabytes of an input'),
  maxPixels: z
    .number()
    .gt(0)
    .default(DEFAULT_LIMITS.pixels / 1e6)
    .describe('megapixels of an input, all frames together'),
  maxFrames: z.int().min(1).default(DEFAULT_LIMITS.frames).describe('frames of an input'),
  maxSide: z
    .int()
    .min(1)
    .max(65_535)
    .default(DEFAULT_LIMITS.side)
    .describe('pixels along one side of an output'),
  timeout: z
    .number()
    .gt(0)
    .max(86_400)
    .default(DEFAULT_LIMITS.deadline / 1000)
    .describe('seconds for one file'),
  allowSvg: flag('read SVG'),
});

export function limitsOf(flags: z.output<typeof limitFlags>): Limits {
  return {
    fileBytes: Math.round(flags.maxFileSize * 1024 * 1024),
    pixels: Math.round(flags.maxPixels * 1e6),
    frames: flags.maxFrames,
    side: flags.maxSide,
    deadline: flags.timeout * 1000,
    svg: flags.allowSvg,
  };
}
