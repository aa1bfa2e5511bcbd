import { PRESETS } from '../../operations/recipe/recipe.ts';
import { INPUTS, LIMITS, OUTPUTS, runningExcept } from '../batch/image-flags.ts';
import type { CommandDefinition, FlagGroup } from '../command/command.ts';
import {
  compareFlags,
  duplicatesFlags,
  faviconOptions,
  formatsFlags,
  montageFlags,
  recursiveFlags,
  srcsetOptions,
} from './command-flags.ts';
import { filesPositional } from './operation-command.ts';

const options = (schema: FlagGroup['schema']): FlagGroup => ({ heading: 'Options:', schema });

/** Looks at recipes, which `oriel run` runs. */
const recipe: CommandDefinition = {
  name: 'recipe',
  summary: 'Check recipes, show presets and the JSON Schema',
  subcommands: [
    {
      name: 'check',
      summary: 'Check a recipe and name all its errors',
      positionals: [{ syntax: '<recipe>', description: 'a file, or a preset', path: true }],
      run: async (input) => (await import('./recipe-run.ts')).runRecipeCheck(input),
    },
    {
      name: 'show',
      summary: 'Print a preset, or list all presets',
      positionals: [{ syntax: '[name]', description: PRESETS.join(', '), choices: PRESETS }],
      run: async (input) => (await import('./recipe-run.ts')).runRecipeShow(input),
    },
    {
      name: 'schema',
      summary: 'Print the JSON Schema with which editors check a recipe',
      run: async () => (await import('./recipe-run.ts')).runRecipeSchema(),
    },
  ],
};

/** Makes the files of responsive images, and the markup that shows them. */
const srcset: CommandDefinition = {
  name: 'srcset',
  summary: 'Make images in several widths and formats, and their HTML',
  positionals: [filesPositional],
  flags: [
    options(srcsetOptions),
    INPUTS,
    { ...OUTPUTS, except: ['name'] },
    runningExcept('sha256sum'),
    LIMITS,
  ],
  notes: [
    `Widths beyond an image give one output of its own width. The snippets go to
standard output in the order of the files, and everything else to standard
error.`,
  ],
  examples: [
    'oriel srcset *.jpg --out public/img --base-url /img/',
    'oriel srcset --widths 320,640 --formats webp,jpeg *.jpg --out img',
    "oriel srcset --sizes '(min-width: 40em) 50vw, 100vw' *.jpg --out img",
    'oriel srcset --snippet json --snippet-out images.json *.jpg --out img',
  ],
  run: async (input) => (await import('./srcset-run.ts')).runSrcset(input),
};

/** Makes the icons of a website. */
const favicon: CommandDefinition = {
  name: 'favicon',
  summary: 'Make favicon.ico, icons of iOS and web apps, and their HTML',
  positionals: [
    { syntax: '<source>', description: 'a square image of 512 pixels or more', path: true },
  ],
  flags: [options(faviconOptions), LIMITS],
  notes: [
    `Writes favicon.ico (16, 32 and 48 pixels), apple-touch-icon.png (180, opaque),
icon-192.png, icon-512.png and icon-maskable-512.png, in which the picture is
inside the safe zone. An image that is not square gets transparent edges. SVG
needs --allow-svg.`,
  ],
  examples: [
    'oriel favicon drawing.png --out public',
    'oriel favicon photo-1.jpg --out icons --manifest --base-url /icons/',
  ],
  run: async (input) => (await import('./favicon-run.ts')).runFavicon(input),
};

/** Draws images onto contact sheets. */
const montage: CommandDefinition = {
  name: 'montage',
  summary: 'Draw images onto contact sheets',
  positionals: [filesPositional],
  flags: [options(montageFlags), INPUTS, runningExcept('sha256sum'), LIMITS],
  notes: [
    `Images that do not fit onto one sheet go onto further sheets: sheet-1.jpg,
sheet-2.jpg. An image that fails leaves a cell with a cross.`,
  ],
  examples: [
    'oriel montage --out sheet.jpg *.jpg',
    "oriel montage --cell 200x150 --label '{name}' --out sheet.png *.jpg",
    'oriel montage --rows 5 --out contact-{index}.webp --recursive photos',
  ],
  run: async (input) => (await import('./montage-run.ts')).runMontage(input),
};

/** Commands that write images and are no operations. */
export const makingCommands = [recipe, srcset, favicon, montage];

/** Measures how much images differ from a reference, or from those of equal names in a folder. */
const compare: CommandDefinition = {
  name: 'compare',
  summary: 'Measure how much images differ, by SSIM and PSNR',
  positionals: [
    {
      syntax: '<reference>',
      description: 'the original image, or a folder of originals',
      path: true,
    },
    {
      syntax: '<files...>',
      description: 'images to compare with it, or - for standard input, or one folder',
      path: true,
    },
  ],
  flags: [
    options(compareFlags),
    { heading: 'Inputs:', schema: recursiveFlags },
    runningExcept('dryRun', 'sha256sum'),
    LIMITS,
  ],
  notes: [
    `Images of two folders are compared by their paths below the folders. If a path
is in one folder only, its name without the extension counts.`,
  ],
  examples: [
    'oriel compare photo.png photo.webp',
    'oriel compare photo.png photo.webp --min-ssim 0.98 --diff difference.png',
    'oriel compare --recursive photos web --json',
  ],
  run: async (input) => (await import('./compare-run.ts')).runCompare(input),
};

/** Finds equal and alike images. */
const duplicates: CommandDefinition = {
  name: 'duplicates',
  summary: 'Find groups of equal and alike images',
  positionals: [filesPositional],
  flags: [options(duplicatesFlags), INPUTS, runningExcept('dryRun', 'sha256sum'), LIMITS],
  notes: [
    `Nothing is deleted. The file to keep has the most pixels, then the most bytes,
then the oldest modification time.`,
  ],
  examples: [
    'oriel duplicates --recursive photos',
    'oriel duplicates --perceptual none --exit-code *.jpg',
    'oriel duplicates --threshold 2 --json *.jpg',
  ],
  run: async (input) => (await import('./duplicates-run.ts')).runDuplicates(input),
};

/** Lists the formats. */
const formats: CommandDefinition = {
  name: 'formats',
  summary: 'List the formats that this machine reads and writes',
  flags: [options(formatsFlags)],
  notes: [
    `HEIC, JPEG XL, camera raw and PDF need installed programs. The list names those
that are missing, and their packages.`,
  ],
  examples: ['oriel formats', 'oriel formats --json'],
  run: async (input) => (await import('./formats-run.ts')).runFormats(input),
};

/** Commands that report on images and are no operations. */
export const lookingCommands = [compare, duplicates, formats];
