import * as v from 'valibot';
import { LIMITS } from '../batch/image-flags.ts';
import type { CommandDefinition } from '../command/command.ts';
import { checkFlags, RULES_FILE, reportFlags, ruleFields } from './check-flags.ts';

/** Checks images against the rules of a repository. */
export const check: CommandDefinition = {
  name: 'check',
  summary: 'Check sizes, formats and metadata of images in CI',
  positionals: [
    {
      syntax: '[paths...]',
      description: 'files, folders with all in them, or quoted patterns; default .',
      path: true,
    },
  ],
  flags: [
    { heading: 'Rules:', schema: v.strictObject(ruleFields) },
    { heading: 'Options:', schema: checkFlags },
    { heading: 'Reports:', schema: reportFlags },
    { ...LIMITS, except: ['maxPixels', 'maxSide', 'maxFrames', 'allowSvg'] },
  ],
  notes: [
    `A file whose extension is not that of its content is always reported, and so is
a damaged one. Folders named node_modules are left out. Only headers are read,
except for --min-ssim, --recipe and the savings. The exit code is 1 if anything
was found. ${RULES_FILE} may have the same rules (maxBytes: 200KB) and
paths; flags win.`,
  ],
  examples: [
    'oriel check --max-bytes 5MB --max-width 6000 .',
    'oriel check --formats jpeg,png --forbid gps,exif --json *.jpg',
    'oriel check --max-bytes 1MB --junit images.xml --sarif images.sarif .',
    'oriel check --fix --max-width 1600 *.jpg',
  ],
  run: async (input) => (await import('./check-run.ts')).runCheck(input),
};
