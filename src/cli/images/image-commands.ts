import { PRESETS } from '../../operations/recipe/recipe.ts';
import { inputFlags, limitFlags, outputFlags, runFlags } from '../batch/image-flags.ts';
import type { CommandDefinition } from '../command/command.ts';
import {
  compareFlags,
  duplicatesFlags,
  faviconOptions,
  montageFlags,
  recursiveFlags,
} from './command-flags.ts';
import { filesPositional } from './operation-command.ts';
import { srcsetOptions } from './srcset-options.ts';

/** Measures how much images differ from a reference, or from those of equal names in a folder. */
export const compareCommand: CommandDefinition = {
  name: 'compare',
  summary: 'Measure how much images differ from others, by SSIM and PSNR',
  positionals: [
    {
      name: 'reference',
      description: 'the original image, or a folder of originals',
      required: true,
      path: true,
    },
    {
      name: 'files',
      description: 'images to compare with it, or - for standard input, or one folder',
      required: true,
      variadic: true,
      path: true,
    },
  ],
  flags: [
    { heading: 'Options:', schema: compareFlags },
    { heading: 'Inputs:', schema: recursiveFlags },
    { heading: 'Running:', schema: runFlags, except: ['dryRun', 'sha256sum'] },
    { heading: 'Limits:', schema: limitFlags },
  ],
  notes: [
    `Images of two folders are compared by their paths below the folders; where a path is in one
folder only, its name without the extension counts.`,
  ],
  examples: [
    'oriel compare photo.png photo.webp',
    'oriel compare photo.png photo.webp --min-ssim 0.98 --diff difference.png',
    'oriel compare --recursive photos web --json',
  ],
  async run({ positionals: [reference, files], flags }) {
    const { runCompare } = await import('./compare-run.ts');
    return runCompare(reference as string, files as string[], flags);
  },
};

/** Finds equal and alike images. */
export const duplicatesCommand: CommandDefinition = {
  name: 'duplicates',
  summary: 'Find groups of equal and alike images, and which of each to keep',
  positionals: [filesPositional],
  flags: [
    { heading: 'Options:', schema: duplicatesFlags },
    { heading: 'Inputs:', schema: inputFlags },
    { heading: 'Running:', schema: runFlags, except: ['dryRun', 'sha256sum'] },
    { heading: 'Limits:', schema: limitFlags },
  ],
  notes: [
    'Nothing is deleted. The file to keep has the most pixels, then bytes, then the oldest modification time.',
  ],
  examples: [
    'oriel duplicates --recursive photos',
    'oriel duplicates --perceptual none --exit-code *.jpg',
    'oriel duplicates --threshold 2 --json *.jpg',
  ],
  async run({ positionals: [files], flags }) {
    const { runDuplicates } = await import('./duplicates-run.ts');
    return runDuplicates(files as string[], flags);
  },
};

/** Makes the icons of a website. */
export const faviconCommand: CommandDefinition = {
  name: 'favicon',
  summary: 'Make favicon.ico, the icons of iOS and of web apps, and their HTML',
  positionals: [
    {
      name: 'source',
      description: 'a square image of 512 pixels or more',
      required: true,
      path: true,
    },
  ],
  flags: [
    { heading: 'Options:', schema: faviconOptions },
    { heading: 'Limits:', schema: limitFlags },
  ],
  notes: [
    `Writes favicon.ico (16, 32 and 48 pixels), apple-touch-icon.png (180, opaque), icon-192.png, icon-512.png and
icon-maskable-512.png, in which the picture is inside the safe zone. An image that is no square gets
transparent edges. SVG is read with --allow-svg.`,
  ],
  examples: [
    'oriel favicon drawing.png --out public',
    'oriel favicon photo-1.jpg --out icons --manifest --base-url /icons/ --background "#102030"',
  ],
  async run({ positionals: [source], flags }) {
    const { runFavicon } = await import('./favicon-run.ts');
    return runFavicon(source as string, flags);
  },
};

/** Draws images onto contact sheets. */
export const montageCommand: CommandDefinition = {
  name: 'montage',
  summary: 'Draw images onto contact sheets',
  positionals: [filesPositional],
  flags: [
    { heading: 'Options:', schema: montageFlags },
    { heading: 'Inputs:', schema: inputFlags },
    {
      heading: 'Running:',
      schema: runFlags,
      except: ['sha256sum'],
    },
    { heading: 'Limits:', schema: limitFlags },
  ],
  notes: [
    `Images that do not fit onto one sheet go onto further ones: sheet-1.jpg, sheet-2.jpg. An image that fails
leaves a cell with a cross.`,
  ],
  examples: [
    'oriel montage --out sheet.jpg *.jpg',
    "oriel montage --columns 6 --cell 200x150 --label '{name}' --out sheet.png *.jpg",
    'oriel montage --rows 5 --out contact-{index}.webp --recursive photos',
  ],
  async run({ positionals: [files], flags }) {
    const { runMontage } = await import('./montage-run.ts');
    return runMontage(files as string[], flags);
  },
};

/** Makes the files of responsive images, and the markup that shows them. */
export const srcsetCommand: CommandDefinition = {
  name: 'srcset',
  summary: 'Make images in several widths and formats, and the HTML that shows them',
  positionals: [filesPositional],
  flags: [
    { heading: 'Options:', schema: srcsetOptions },
    { heading: 'Inputs:', schema: inputFlags },
    { heading: 'Outputs:', schema: outputFlags, except: ['name'] },
    { heading: 'Running:', schema: runFlags, except: ['sha256sum'] },
    { heading: 'Limits:', schema: limitFlags },
  ],
  notes: [
    `Widths beyond an image give one output of its own width. The snippets go to standard output in the
order of the files, and everything else to standard error.`,
  ],
  examples: [
    'oriel srcset *.jpg --out public/img --base-url /img/',
    "oriel srcset --widths 320,640 --formats webp,jpeg --sizes '(min-width: 40em) 50vw, 100vw' *.jpg --out img",
    'oriel srcset --snippet json --snippet-out images.json *.jpg --out img',
  ],
  async run({ positionals: [files], flags }) {
    const { runSrcset } = await import('./srcset-run.ts');
    return runSrcset(files as string[], flags);
  },
};

/** Looks at recipes, which `oriel run` runs. */
export const recipeCommand: CommandDefinition = {
  name: 'recipe',
  summary: 'Check recipes, show the presets and the JSON Schema',
  subcommands: [
    {
      name: 'check',
      summary: 'Name every fault of a recipe, or say that it is good',
      positionals: [
        { name: 'recipe', description: 'a file, or a preset', required: true, path: true },
      ],
      async run({ positionals: [file] }) {
        const { runRecipeCheck } = await import('./recipe-run.ts');
        return runRecipeCheck(file as string);
      },
    },
    {
      name: 'show',
      summary: 'Print a preset, or list all of them',
      positionals: [{ name: 'name', description: PRESETS.join(', '), choices: PRESETS }],
      async run({ positionals: [name] }) {
        const { runRecipeShow } = await import('./recipe-run.ts');
        return runRecipeShow(name as string | undefined);
      },
    },
    {
      name: 'schema',
      summary: 'Print the JSON Schema that editors check a recipe with',
      async run() {
        const { runRecipeSchema } = await import('./recipe-run.ts');
        return runRecipeSchema();
      },
    },
  ],
};
