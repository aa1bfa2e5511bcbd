import type { CommandDefinition } from '../command/command.ts';
import { faviconOptions } from './favicon-options.ts';
import { limitFlags } from '../batch/image-flags.ts';

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
