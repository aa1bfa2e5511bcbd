import { existsSync } from 'node:fs';
import { extname } from 'node:path';
import * as v from 'valibot';
import { faultLines, readDocument } from '../../config/yaml/document.ts';
import { codedFailure } from '../../failure.ts';
import { formatOfExtension } from '../../images/formats.ts';
import type { Inspection } from '../../operations/tools/inspect.ts';
import { checkAll } from '../../schema/faults.ts';
import { isObject } from '../../schema/untrusted.ts';
import { type Flags, flagOf, readFlags, usageFailure } from '../command/command.ts';
import { readText } from '../files/text-argument.ts';
import { humanBytes } from '../terminal/terminal.ts';
import { RULES_FILE, ruleFields } from './check-flags.ts';

const ruleFlags = v.strictObject(ruleFields);
const rulesFile = v.strictObject({ ...ruleFields, paths: v.optional(v.array(v.string())) });

export type Rules = v.InferOutput<typeof ruleFlags>;

/** A violation of a rule. */
export interface Finding {
  /** Name of the flag of the rule, or the code of an error. */
  readonly rule: string;
  readonly message: string;
}

/** The rules of the flags and of the file, and the paths in the file, which count from the working folder. @throws Failure for an error in either */
export function readRules(flags: Flags, file: string | undefined): [Rules, readonly string[]] {
  const path = file ?? (existsSync(RULES_FILE) ? RULES_FILE : undefined);
  const { paths, ...inFile } = path === undefined ? {} : readFile(path);
  const rules = readFlags(ruleFlags, { ...inFile, ...flags });
  const { minSsim, sources, out, recipe } = rules;
  if (minSsim !== undefined && flags['base'] === undefined)
    throw usageFailure('--min-ssim: --base is required: what to compare with');
  const needless = Object.entries({ sources, out }).find(([, value]) => value !== undefined);
  if (recipe === undefined && needless)
    throw usageFailure(`${flagOf(needless[0])}: only with --recipe`);
  return [rules, (paths as readonly string[] | undefined) ?? ['.']];
}

/** The values of a file of rules, with lists and numbers as flags have them. */
function readFile(file: string): Record<string, unknown> {
  const document = readDocument(readText(file, []), {}, 4000);
  const value = document.value ?? {};
  const rules = { ...(isObject(value) && value) };
  for (const name of ['formats', 'forbid', 'maxBytes']) {
    const given = rules[name];
    if (Array.isArray(given) || typeof given === 'number') rules[name] = String(given);
  }
  const checked = checkAll(rulesFile, isObject(value) ? rules : value);
  const faults = [...document.faults, ...('faults' in checked ? checked.faults : [])];
  if (faults.length === 0) return rules;
  const message = faultLines(file, faults, document, 20).join('\n');
  throw codedFailure('invalid_recipe', message, { param: 'rules' });
}

const EXTENSIONS: Readonly<Record<string, string>> = {
  ...{ heic: 'heic', heif: 'heic', svg: 'svg', bmp: 'bmp', dib: 'bmp', ico: 'ico' },
};

/** The format that an extension stands for; null for others. */
export function formatOfName(path: string): string | null {
  const extension = extname(path).slice(1).toLowerCase();
  return formatOfExtension(extension) ?? EXTENSIONS[extension] ?? null;
}

/** The rules that a file violates. @param size bytes of the file */
export function findingsOf(path: string, size: number, facts: Inspection, rules: Rules): Finding[] {
  const { format, width = 0, height = 0, metadata, ssim = 1, incomparable } = facts;
  const { maxBytes, maxWidth, maxHeight, maxPixels, minSsim = 0, formats = [format] } = rules;
  const isAbove = (value: number, most = Number.POSITIVE_INFINITY) => value > most;
  const checks: readonly (readonly [rule: string, isViolated: boolean, message: string])[] = [
    ['extension', (formatOfName(path) ?? format) !== format, `the content is ${format}`],
    ['formats', !formats.includes(format), `${format}, expected ${formats.join(' or ')}`],
    [
      'max-bytes',
      isAbove(size, maxBytes),
      `${humanBytes(size)} (${size} bytes), more than ${maxBytes} bytes`,
    ],
    ['max-width', isAbove(width, maxWidth), `${width} pixels wide, more than ${maxWidth}`],
    ['max-height', isAbove(height, maxHeight), `${height} pixels high, more than ${maxHeight}`],
    [
      'max-pixels',
      isAbove((width * height) / 1e6, maxPixels),
      `${width}x${height}, more than ${maxPixels} megapixels`,
    ],
    ['forbid', metadata.length > 0, `has metadata that must not ship: ${metadata.join(', ')}`],
    [
      'min-ssim',
      incomparable !== undefined,
      `cannot be compared with the former version: ${incomparable}`,
    ],
    ['min-ssim', ssim < minSsim, `SSIM ${ssim} to the former version, less than ${minSsim}`],
  ];
  return checks.flatMap(([rule, isViolated, message]) => (isViolated ? [{ rule, message }] : []));
}
