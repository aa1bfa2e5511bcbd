import * as v from 'valibot';
import { byteSize } from '../../images/byte-size.ts';
import { STRIP_KINDS } from '../../images/metadata/edit.ts';
import { field, integer, number, optional, withDefault } from '../../schema/fields.ts';
import { runFlags } from '../batch/image-flags.ts';
import { flag, textFlag } from '../command/command.ts';

/** Formats that a rule may allow. */
const FORMATS = ['jpeg', 'png', 'webp', 'avif', 'gif', 'tiff', 'svg', 'ico', 'bmp', 'heic', 'jxl'];

const SHORT: Readonly<Record<string, string>> = { jpg: 'jpeg', tif: 'tiff' };

const listOf = (names: readonly string[], description: string) =>
  field(
    v.pipe(
      v.string(),
      v.transform((list) => list.split(',').map((item) => SHORT[item.trim()] ?? item.trim())),
      v.check((items) => items.every((item) => names.includes(item))),
    ),
    description,
    { expects: `one or more of ${names.join(', ')}, separated by commas` },
  );

/** Bytes, with or without a unit. */
const bytes = v.pipe(
  v.string(),
  v.transform((text) => (/^\d+$/.test(text) ? `${text} B` : text)),
  byteSize(),
);

const PATH = { path: true };

/** The rules, which a file may have too. */
export const ruleFields = {
  maxBytes: optional(bytes, 'largest file', { expects: 'bytes, or a size such as 200KB' }),
  maxWidth: optional(integer(1), 'largest width in pixels'),
  maxHeight: optional(integer(1), 'largest height in pixels'),
  maxPixels: optional(number(0.001, 10_000), 'most megapixels'),
  formats: v.optional(listOf(FORMATS, 'formats that may ship; --fix converts to the first')),
  forbid: v.optional(
    listOf([...STRIP_KINDS, 'none'], 'metadata that must not ship; none allows all'),
    'gps',
  ),
  minSsim: optional(number(0.5, 1), 'lowest SSIM to the former version at --base'),
  recipe: textFlag('recipe whose outputs must be up to date', 'a file, or a preset', PATH),
  sources: textFlag(
    'files of the recipe; default the checked ones',
    'a folder, a file or a pattern',
    PATH,
  ),
  out: textFlag('folder for the outputs of the recipe', 'a folder', { short: 'o', ...PATH }),
};

/** The file that a repository keeps its rules in. */
export const RULES_FILE = 'oriel-check.yaml';

export const checkFlags = v.strictObject({
  base: textFlag('check only files that changed since this commit', 'a branch, tag or commit'),
  rules: textFlag(`file of rules; default ${RULES_FILE} if it exists`, 'a file', PATH),
  fix: flag('repair the files; in place, except for another format'),
});

export const reportFlags = v.strictObject({
  json: runFlags.entries.json,
  quiet: flag('print no table', { short: 'q' }),
  annotate: runFlags.entries.annotate,
  junit: textFlag('write a report in the format of JUnit', 'a file, or -', PATH),
  sarif: textFlag('write a report in SARIF 2.1.0', 'a file, or -', PATH),
  markdown: textFlag('write a Markdown table with savings', 'a file, or -', PATH),
  savings: withDefault(v.boolean(), true, 'measure savings', {
    off: 'do not measure savings for --markdown',
  }),
  jobs: runFlags.entries.jobs,
});
