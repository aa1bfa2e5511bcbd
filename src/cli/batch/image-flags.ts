import * as v from 'valibot';
import { colourField } from '../../images/colour.ts';
import { encodingFields, formatField } from '../../images/encoding/options.ts';
import { fontField } from '../../images/layers/fonts.ts';
import { DEFAULT_LIMITS, type Limits } from '../../images/limits.ts';
import { MAX_THRESHOLD } from '../../images/similarity/similar.ts';
import { placeholderFault } from '../../operations/definition/name-template.ts';
import { field, integer, number } from '../../schema/fields.ts';

const flag = (description: string, short?: string) =>
  v.optional(field(v.boolean(), description, short ? { short } : {}), false);

const text = (expects: string, description: string, notes: { short?: string; path?: true } = {}) =>
  v.optional(field(v.pipe(v.string(), v.nonEmpty()), description, { expects, ...notes }));

/** Inputs of an image command. */
export const inputFlags = v.strictObject({
  recursive: flag('take the images in folders, and keep their tree below --out', 'r'),
  strict: flag('fail on files in folders whose format is not read, instead of skipping them'),
  filesFrom: text(
    'a file, or -',
    'read further paths from a list: one a line, or NUL between them',
    { path: true },
  ),
});

/** Inputs of a command over two folders. */
export const recursiveFlags = v.strictObject({
  recursive: flag('compare the images in two folders', 'r'),
});

/** How images are compared. */
export const compareFlags = v.strictObject({
  minSsim: v.optional(field(number(0, 1), 'exit with 1 where the SSIM of an image is lower')),
  minPsnr: v.optional(
    field(number(0, 1000), 'exit with 1 where the PSNR of an image, in decibels, is lower'),
  ),
  resize: flag('scale images to the size of the reference, instead of failing on another size'),
  fullSize: flag(
    'measure SSIM at full size, instead of reducing the shorter side to about 256 pixels',
  ),
  diff: text('a PNG file, or a folder for several', 'write an image of the differences', {
    path: true,
  }),
  overwrite: flag('replace images of differences that exist'),
});

/** Outputs of an image command. */
export const outputFlags = v.strictObject({
  out: text(
    'a folder, a file for one image, or -',
    'where outputs go, instead of beside their inputs',
    { short: 'o', path: true },
  ),
  name: text(
    '{name} {ext} {width} {height} {index} {format} {hash} {parent} {date} {date:YYYY-MM-DD}',
    'template of output names',
  ),
  zip: text('a file, or -', 'write one ZIP with a manifest.json instead of files', {
    path: true,
  }),
  overwrite: flag('replace files that exist'),
  skipExisting: flag('leave out inputs whose output exists'),
  bestEffort: flag('write the nearest output where none reaches --target-size or --target-ssim'),
  keepMtime: flag("give outputs their inputs' modification time"),
  watch: flag('go on after the first run, and redo what changes until Ctrl-C; --incremental'),
  check: flag('write nothing, and exit with 1 if an output is missing or differs'),
});

/** How contact sheets look. */
export const montageFlags = v.strictObject({
  out: field(v.pipe(v.string(), v.nonEmpty()), 'where the sheet goes; {index} numbers several', {
    expects: 'a file ending in .jpg, .png, .webp, .avif, .gif or .tiff',
    short: 'o',
    path: true,
  }),
  columns: v.optional(field(integer(1, 1000), 'cells in a row'), 4),
  rows: v.optional(
    field(integer(1, 1000), 'rows of a sheet; as many as --max-side allows where not given'),
  ),
  cell: v.optional(
    field(v.pipe(v.string(), v.regex(/^[1-9]\d{0,4}x[1-9]\d{0,4}$/)), 'size of a cell in pixels', {
      expects: 'WIDTHxHEIGHT such as 300x200',
    }),
    '300x300',
  ),
  fit: v.optional(
    field(
      v.picklist(['contain', 'cover']),
      'whether images fit into cells, or fill them and are cut',
    ),
    'contain',
  ),
  gap: v.optional(field(integer(0, 1000), 'pixels between cells and around them'), 10),
  label: v.optional(
    field(
      v.pipe(
        v.string(),
        v.nonEmpty(),
        v.maxLength(100),
        v.check((text) => placeholderFault(text, ['name', 'index']) === null),
        v.check((text) => !/\p{Cc}/u.test(text)),
      ),
      'text below each image',
      { expects: 'a text of at most 100 characters with {name} and {index}' },
    ),
  ),
  labelSize: v.optional(field(integer(4, 200), 'height of the letters of labels in pixels'), 14),
  labelColor: v.optional(colourField('colour of labels'), 'black'),
  font: v.optional(fontField('installed font of labels; sans-serif where not given')),
  sort: v.optional(
    field(v.picklist(['name', 'given']), 'the order of images: by name, 2 before 10, or as given'),
    'name',
  ),
  background: v.optional(colourField('colour of the sheet'), 'white'),
  format: v.optional(formatField('output format; that of --out where not given')),
  quality: encodingFields.quality,
  lossless: encodingFields.lossless,
  effort: encodingFields.effort,
  progressive: encodingFields.progressive,
  overwrite: flag('replace sheets that exist'),
});

/** How duplicates are found. */
export const duplicatesFlags = v.strictObject({
  perceptual: v.optional(
    field(
      v.picklist(['phash', 'dhash', 'none']),
      'the hash that finds alike pictures; none finds equal bytes only, in files of any kind',
    ),
    'phash',
  ),
  threshold: v.optional(
    field(integer(0, MAX_THRESHOLD), 'bits of 64 by which the hashes of alike pictures may differ'),
    6,
  ),
  exitCode: flag('exit with 1 where duplicates were found'),
});

/** Execution and report of an image command. */
export const runFlags = v.strictObject({
  json: flag('print one JSON document of all results'),
  jsonl: flag('print a line of JSON for each file as it finishes'),
  sha256sum: flag('print lines that sha256sum --check reads'),
  quiet: flag('print errors only', 'q'),
  annotate: v.optional(
    field(v.picklist(['github']), 'mark failed files in GitHub Actions, on standard error'),
  ),
  jobs: v.optional(
    field(integer(1, 256), 'threads; as many as cores where not given', { short: 'j' }),
  ),
  failFast: flag('start nothing more after the first failure'),
  dryRun: flag('say what would be done, and do nothing'),
  incremental: flag('do only what changed since the last run with the same cache'),
  cache: text('a folder', 'folder of results, .oriel-cache by default; implies --incremental', {
    path: true,
  }),
  cacheSize: v.optional(field(number(1, 1e9), 'megabytes of the cache'), 2048),
});

const MEGABYTE = 1e6;
const MEGAPIXEL = 1e6;

/** Limits on each file, which can be raised for trusted images. */
export const limitFlags = v.strictObject({
  maxFileSize: v.optional(field(number(0.001, 4096), 'megabytes of an input'), 30),
  maxPixels: v.optional(
    field(number(0.001, 10_000), 'megapixels of an input, all decoded frames together'),
    DEFAULT_LIMITS.pixels / MEGAPIXEL,
  ),
  maxFrames: v.optional(
    field(integer(1, 100_000), 'frames of an input, where all are decoded'),
    DEFAULT_LIMITS.frames,
  ),
  maxSide: v.optional(
    field(integer(1, 65_535), 'pixels along one side of an output'),
    DEFAULT_LIMITS.side,
  ),
  timeout: v.optional(
    field(number(0.001, 86_400), 'seconds for one file'),
    DEFAULT_LIMITS.deadline / 1000,
  ),
  allowSvg: flag('read SVG'),
});

export function limitsOf(flags: v.InferOutput<typeof limitFlags>): Limits {
  return {
    fileBytes: Math.round(flags.maxFileSize * MEGABYTE),
    pixels: Math.round(flags.maxPixels * MEGAPIXEL),
    frames: flags.maxFrames,
    side: flags.maxSide,
    deadline: flags.timeout * 1000,
    svg: flags.allowSvg,
    svgSwitch: '--allow-svg',
  };
}
